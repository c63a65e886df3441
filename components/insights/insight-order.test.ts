import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { autoRefreshMs, joinOrder, orderNewsOf } from './insight-order.ts'

const keysOf = (names: string) => names.split('').map((name) => ({ type: 'DataplaneInsight', mesh: 'prod', name }))
const namesOf = (keys: readonly { readonly name: string }[]) => keys.map(({ name }) => name).join('')

describe('joining the head of an order with the whole of it', () => {
  it('takes the whole as it is when it begins like the head', () => {
    const whole = { keys: keysOf('abcdef'), asOf: 7, membersAsOf: 2 }
    expect(joinOrder(keysOf('abc'), whole)).toBe(whole)
  })

  it('leaves on its place what is on screen already', () => {
    const joined = joinOrder(keysOf('abc'), { keys: keysOf('dcbae'), asOf: 8, membersAsOf: 2 })
    expect(namesOf(joined.keys)).toBe('abcde')
    expect(joined.asOf).toBe(8)
  })

  it('drops from the head what is no longer there', () => {
    expect(namesOf(joinOrder(keysOf('abc'), { keys: keysOf('xca'), asOf: 9, membersAsOf: 2 }).keys)).toBe('acx')
  })

  it('neither loses nor doubles a key', () => {
    const letters = 'abcdefghij'.split('')
    fc.assert(
      fc.property(fc.shuffledSubarray(letters), fc.shuffledSubarray(letters), (head, whole) => {
        const { keys } = joinOrder(keysOf(head.join('')), { keys: keysOf(whole.join('')), asOf: 1, membersAsOf: 1 })
        expect(namesOf(keys).split('').toSorted()).toEqual(whole.join('').split('').toSorted())
      }),
    )
  })
})

describe('what a list says about its order', () => {
  const order = { keys: keysOf('abcd'), asOf: 10, membersAsOf: 5 }
  const facts = { filter: { sort: 'worst' as const }, order, revision: 10, membersRevision: 5, total: 4 }

  it('says nothing while nothing moved', () => {
    expect(orderNewsOf(facts)).toBeUndefined()
  })

  it('counts what is new when the list has everything in it', () => {
    expect(orderNewsOf({ ...facts, revision: 11, total: 16 })).toEqual({ kind: 'added', count: 12 })
  })

  it('says only that it moved when a filter hides how many are new', () => {
    expect(orderNewsOf({ ...facts, filter: { sort: 'worst', mesh: 'prod' }, revision: 11, total: 16 })).toEqual({ kind: 'moved' })
  })

  it('says that it moved when rows changed their place', () => {
    expect(orderNewsOf({ ...facts, revision: 11 })).toEqual({ kind: 'moved' })
  })

  it('is quiet by name while no row came or went, for nothing else moves that order', () => {
    expect(orderNewsOf({ ...facts, filter: { sort: 'name' }, revision: 11 })).toBeUndefined()
    expect(orderNewsOf({ ...facts, filter: { sort: 'name' }, revision: 11, membersRevision: 6, total: 3 })).toEqual({ kind: 'moved' })
    // One went and another came.
    expect(orderNewsOf({ ...facts, filter: { sort: 'name' }, revision: 11, membersRevision: 7 })).toEqual({ kind: 'moved' })
  })

  it('takes a long order less often by itself than a short one', () => {
    expect(autoRefreshMs(200)).toBe(3000)
    expect(autoRefreshMs(50_000)).toBe(25_000)
  })
})

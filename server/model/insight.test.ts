import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { insightKeyOf, isOnline, rejectedTypes, type Subscription, subjectKeyOf, withSubscription } from './insight.ts'

const subscription = (id: string, over: Partial<Subscription> = {}): Subscription => ({
  id,
  instance: 'i',
  variant: 'sotw',
  connectedAt: 1,
  generation: 1,
  types: {},
  ...over,
})
const refused = { sent: 1, acked: 0, nacked: 1, lastAt: 1, rejection: { reason: 'bad', since: 1 } }
const accepted = { sent: 1, acked: 1, nacked: 0, lastAt: 1 }

describe('subscriptions of an insight', () => {
  it('are replaced by their id and else put at the end; the oldest leave', () => {
    const two = [subscription('a'), subscription('b')]
    expect(withSubscription(two, subscription('a', { generation: 2 }), 2).map(({ id, generation }) => [id, generation])).toEqual([
      ['a', 2],
      ['b', 1],
    ])
    expect(withSubscription(two, subscription('c'), 2).map(({ id }) => id)).toEqual(['b', 'c'])
  })

  it('never are more than are kept, and the newest is always among them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 4 }),
        (ids, keep) => {
          let all: readonly Subscription[] = []
          for (const id of ids) all = withSubscription(all, subscription(id), keep)
          expect(all.length).toBeLessThanOrEqual(keep)
          expect(all.some(({ id }) => id === ids.at(-1))).toBe(true)
          expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
        },
      ),
    )
  })

  it('make it online while any is open', () => {
    const closed = subscription('a', { disconnectedAt: 5 })
    expect(isOnline({ subscriptions: [] })).toBe(false)
    expect(isOnline({ subscriptions: [closed] })).toBe(false)
    expect(isOnline({ subscriptions: [subscription('a'), { ...closed, id: 'b' }] })).toBe(true)
  })

  it('reject what the newest open one rejects', () => {
    const old = subscription('a', { types: { CDS: refused } })
    const open = subscription('b', { types: { CDS: accepted, LDS: refused } })
    expect(rejectedTypes({ subscriptions: [old, open] })).toEqual(['LDS'])
    expect(rejectedTypes({ subscriptions: [old, { ...open, disconnectedAt: 5 }] })).toEqual(['CDS'])
    expect(rejectedTypes({ subscriptions: [{ ...open, disconnectedAt: 5 }] })).toEqual([])
  })
})

describe('the key of an insight', () => {
  it('is that of its subject with another type, and back', () => {
    const subject = { type: 'Dataplane', mesh: 'default', name: 'web-1' }
    expect(insightKeyOf(subject)).toEqual({ type: 'DataplaneInsight', mesh: 'default', name: 'web-1' })
    expect(subjectKeyOf(insightKeyOf(subject))).toEqual(subject)
  })
})

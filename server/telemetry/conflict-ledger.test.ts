import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { LostTo, ResourceKey, Version } from '../model/resource.ts'
import { createConflictLedger, type SettledConflict } from './conflict-ledger.ts'

const key = (name = 'web-1'): ResourceKey => ({ type: 'DataplaneInsight', mesh: 'default', name })
const lostTo = (writer: string): LostTo => ({ writer, instance: 'i', version: '7' as Version, at: 1, certainty: 'exact' })

function make() {
  const clock = createFakeClock()
  const settled: SettledConflict[] = []
  const ledger = createConflictLedger({ clock, onSettledMetric: (conflict) => settled.push(conflict) })
  const by = (writer: string, name?: string) => ({ key: key(name), writer, instance: 'i', at: clock.now() })
  return {
    clock,
    ledger,
    settled,
    lose: (writer: string, to: string | undefined, name?: string) =>
      ledger.lost({ ...by(writer, name), lostTo: to === undefined ? undefined : lostTo(to) }),
    write: (writer: string, name?: string) => ledger.written({ ...by(writer, name), version: '8' }),
    giveUp: (writer: string, name?: string) => ledger.gaveUp(by(writer, name)),
    settle: (writer: string, name?: string) => ledger.settled(by(writer, name)),
  }
}

describe('a conflict', () => {
  it('is not counted before its story ends', () => {
    const { ledger, lose, settled } = make()
    lose('dataplane-sink', 'identity')
    expect(ledger.matrix()).toEqual([])
    expect(settled).toEqual([])
    expect(ledger.countsOf(key())).toEqual({ benign: 0, harmful: 0 })
  })

  it('is benign when the write was made later, by the same writer alone', () => {
    const { ledger, lose, write, settled } = make()
    lose('dataplane-sink', 'identity')
    write('identity')
    expect(ledger.matrix()).toEqual([])
    write('dataplane-sink')
    expect(ledger.matrix()).toEqual([
      { writer: 'dataplane-sink', lostTo: 'identity', type: 'DataplaneInsight', benign: 1, harmful: 0, attempts: 2 },
    ])
    expect(settled).toEqual([{ writer: 'dataplane-sink', lostTo: 'identity', type: 'DataplaneInsight', severity: 'benign' }])
  })

  it('is harmful when the write was given up, and benign when what is stored says it already', () => {
    const { ledger, lose, giveUp, settle } = make()
    lose('identity', 'dataplane-sink', 'a')
    giveUp('identity', 'a')
    lose('identity', 'dataplane-sink', 'b')
    settle('identity', 'b')
    expect(ledger.matrix()).toMatchObject([{ benign: 1, harmful: 1 }])
    expect(ledger.countsOf(key('a'))).toMatchObject({ benign: 0, harmful: 1 })
    expect(ledger.countsOf(key('b'))).toMatchObject({ benign: 1, harmful: 0 })
  })

  it('is one of several of a story, each counted by whom it lost to', () => {
    const { ledger, lose, write } = make()
    lose('dataplane-sink', 'identity')
    lose('dataplane-sink', 'lifecycle')
    lose('dataplane-sink', undefined)
    write('dataplane-sink')
    expect(Object.fromEntries(ledger.matrix().map((cell) => [cell.lostTo, [cell.benign, cell.attempts]]))).toEqual({
      identity: [1, 1],
      lifecycle: [1, 1],
      unknown: [1, 2],
    })
  })

  it('ends with its resource, leaving nothing behind', () => {
    const { ledger, lose, write } = make()
    lose('dataplane-sink', 'identity')
    ledger.forget(key())
    expect(ledger.matrix()).toMatchObject([{ benign: 1, harmful: 0 }])
    expect(ledger.of(key()).writes).toEqual([])
    write('dataplane-sink')
    expect(ledger.matrix()).toMatchObject([{ benign: 1 }])
  })

  it('is told to who follows, with its key, until they leave', () => {
    const { ledger, lose, write } = make()
    const told: string[] = []
    const leaving = new AbortController()
    ledger.onSettled(({ name }) => told.push(name), leaving.signal)
    for (const name of ['a', 'b']) {
      lose('dataplane-sink', 'identity', name)
      write('dataplane-sink', name)
      leaving.abort()
    }
    expect(told).toEqual(['a'])
  })
})

describe('the matrix of a span', () => {
  it('counts what was settled in it, and the whole counts all', async () => {
    const { clock, ledger, lose, write } = make()
    const conflict = () => {
      lose('dataplane-sink', 'identity')
      write('dataplane-sink')
    }
    conflict()
    await clock.advance(600_000)
    conflict()
    conflict()
    expect(ledger.matrix(60_000)).toMatchObject([{ benign: 2 }])
    expect(ledger.matrix(3_600_000)).toMatchObject([{ benign: 3 }])
    await clock.advance(7_200_000)
    expect(ledger.matrix(60_000)).toEqual([])
    expect(ledger.matrix()).toMatchObject([{ benign: 3 }])
  })

  it('is not moved by a wall clock that jumps', async () => {
    const { clock, ledger, lose, write } = make()
    lose('dataplane-sink', 'identity')
    write('dataplane-sink')
    clock.jump(3_600_000)
    expect(ledger.matrix(60_000)).toMatchObject([{ benign: 1 }])
    expect(ledger.recent().at(-1)).toMatchObject({ benign: 1, harmful: 0 })
  })
})

describe('the last writes of an insight', () => {
  it('are kept in order, lost ones with their winner, and are bounded', () => {
    const { ledger, lose, write } = make()
    write('identity')
    lose('dataplane-sink', 'identity')
    expect(ledger.of(key()).writes.map(({ writer, outcome, lostTo: winner }) => [writer, outcome, winner?.writer])).toEqual([
      ['identity', 'written', undefined],
      ['dataplane-sink', 'conflict', 'identity'],
    ])
    for (let count = 0; count < 1_000; count++) write('identity')
    expect(ledger.of(key()).writes.length).toBeLessThanOrEqual(100)
  })
})

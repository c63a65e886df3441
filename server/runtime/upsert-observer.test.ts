import { describe, expect, it } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { LostTo, Resource, Version } from '../model/resource.ts'
import { createConflictLedger } from '../telemetry/conflict-ledger.ts'
import { createUpsertObserver } from './upsert-observer.ts'

const key = { type: 'DataplaneInsight', mesh: 'default', name: 'web-1' }
const lostTo: LostTo = { writer: 'dataplane-sink', instance: 'here', version: '2' as Version, at: 0, certainty: 'exact' }
const resource = { key, version: '3', modifiedAt: 0 } as unknown as Resource

function make() {
  const clock = createFakeClock()
  const ledger = createConflictLedger({ clock })
  const attempts: unknown[] = []
  const observer = createUpsertObserver({
    clock,
    ledger,
    instance: 'here',
    onAttempts: (labels, count) => attempts.push([labels.outcome, count]),
  })
  return { observer, ledger, attempts }
}
const lose = ({ observer }: ReturnType<typeof make>) => observer.lost({ key, writer: 'identity', lostTo })

describe('the observer of upserts', () => {
  it('tells the ledger of a conflict that a later attempt made good', () => {
    const world = make()
    lose(world)
    expect(world.ledger.matrix()).toEqual([])
    world.observer.done({ key, writer: 'identity', result: { outcome: 'updated', attempts: 2, conflicts: [lostTo], resource } })
    expect(world.ledger.matrix()).toMatchObject([{ writer: 'identity', lostTo: 'dataplane-sink', benign: 1, harmful: 0 }])
    expect(world.ledger.of(key).writes.map(({ outcome }) => outcome)).toEqual(['conflict', 'written'])
    expect(world.attempts).toEqual([['updated', 2]])
  })

  it('tells it of one after which there was nothing left to write', () => {
    const world = make()
    lose(world)
    world.observer.done({ key, writer: 'identity', result: { outcome: 'unchanged', attempts: 2, conflicts: [lostTo], resource } })
    expect(world.ledger.matrix()).toMatchObject([{ benign: 1, harmful: 0 }])
    expect(world.ledger.of(key).writes.map(({ outcome }) => outcome)).toEqual(['conflict'])
  })

  it('tells it of one that was given up, and how it ended', () => {
    const world = make()
    lose(world)
    world.observer.gaveUp({ key, writer: 'identity', attempts: 3, error: new CoreError('conflict', 'x') })
    expect(world.ledger.matrix()).toMatchObject([{ benign: 0, harmful: 1 }])
    world.observer.gaveUp({ key, writer: 'identity', attempts: 1, error: new CoreError('unavailable', 'x') })
    expect(world.attempts).toEqual([
      ['conflict', 3],
      ['error', 1],
    ])
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { loadKinds } from '../model/load-kinds.ts'
import { createSettings, type Settings } from '../settings/settings.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import { createConflictStorm } from './conflict-storm.ts'

const INTERVAL = 'sink.dataplane.flushIntervalMs'
const TTL = 'identity.certificateTtlMs'
const kinds = await loadKinds()
let settings: Settings
let storm: (active: boolean) => Promise<void>

beforeEach(async () => {
  const clock = createFakeClock()
  let ids = 0
  const store = createMemoryStore({ clock, kinds, instance: 'test' })
  settings = createSettings({ store, clock, newId: () => `change-${++ids}`, onError: () => undefined })
  await settings.load({ [TTL]: 60_000 })
  storm = createConflictStorm(settings)
})
const values = () => [INTERVAL, TTL].map((key) => settings.get(key).value)

describe('the conflict storm', () => {
  it('sets what makes two writers meet, through the settings, and puts back what was there', async () => {
    await storm(true)
    expect(values()).toEqual([200, 2_000])
    expect(settings.history().map(({ key, by, reason }) => [key, by, reason])).toEqual([
      [TTL, 'demo', 'conflict storm switched on'],
      [INTERVAL, 'demo', 'conflict storm switched on'],
    ])
    await storm(false)
    expect(values()).toEqual([10_000, 60_000])
  })

  it('is switched on once however often it is asked for, and does nothing when it is off', async () => {
    await storm(false)
    await storm(true)
    await storm(true)
    await storm(false)
    expect(values()).toEqual([10_000, 60_000])
    expect(settings.history()).toHaveLength(4)
  })

  it('leaves what an operator set meanwhile', async () => {
    await storm(true)
    await settings.apply({ key: INTERVAL, value: 5_000, expectedVersion: settings.get(INTERVAL).version, by: 'ada' })
    await storm(false)
    expect(values()).toEqual([5_000, 60_000])
  })
})

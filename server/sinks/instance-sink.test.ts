import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { InstanceInsight } from '../model/mesh-insight.ts'
import type { Settings } from '../settings/settings.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { createUpsert } from '../store/upsert.ts'
import { createInstanceSink, type InstanceSink } from './instance-sink.ts'

const kinds = await loadKinds()
const counts: Omit<InstanceInsight, 'generation'> = {
  mode: 'global',
  version: '1',
  startedAt: 1,
  sessions: { xds: 3, kds: 2 },
  links: { live: 1 },
  conflicts: { benign: 0, harmful: 0 },
  settingsVersion: '0',
  eventLoopLagMs: { p50: 1, p99: 2 },
  rssBytes: 5,
}
let clock: FakeClock
let store: ResourceStore
let sink: InstanceSink
let ending: AbortController
let running: Promise<void>
const intervalMs = createTunable(5_000)

beforeEach(async () => {
  clock = createFakeClock()
  store = createMemoryStore({ clock, kinds, instance: 'now' })
  intervalMs.set(5_000)
  await store.create({ key: { type: 'InstanceInsight', mesh: '', name: 'before' }, spec: { generation: 9 } }, { writer: 'test' })
  sink = createInstanceSink({
    clock,
    store,
    upsert: createUpsert({ store, clock, random: () => 0, observer: { lost() {}, done() {}, gaveUp() {} } }),
    settings: { tunable: () => intervalMs, get: () => ({ version: '0', modifiedAt: null }) } as unknown as Pick<
      Settings,
      'tunable' | 'get'
    >,
    instance: 'now',
    observe: () => counts,
    onFlushed: () => undefined,
    onError: () => undefined,
  })
  ending = new AbortController()
  running = sink.run(ending.signal)
  await clock.advance(0)
})
afterEach(end)

async function end() {
  ending.abort()
  await running
  expect(clock.pending()).toBe(0)
}
const insight = () => store.get<InstanceInsight>({ type: 'InstanceInsight', mesh: '', name: 'now' })

describe('the insight of an instance', () => {
  it('is written at once and then each interval, by which its generation tells that it lives', async () => {
    expect((await insight()).spec).toEqual({ ...counts, generation: 1 })
    await clock.advance(10_000)
    expect((await insight()).spec.generation).toBe(3)
    expect(sink.row()).toMatchObject({ name: 'instance', intervalMs: 5_000, flushes: { written: 3 } })
  })

  it('follows a new interval at once', async () => {
    await clock.advance(1_000)
    intervalMs.set(500)
    await clock.advance(0)
    expect((await insight()).spec.generation).toBe(2)
  })

  it('takes the place of what an instance left that is gone', async () => {
    expect((await store.list({ type: 'InstanceInsight' })).items.map(({ key }) => key.name)).toEqual(['now'])
  })
})

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable, type MutableTunable } from '../lib/tunable.ts'
import type { Subscription } from '../model/insight.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { MeshInsight } from '../model/mesh-insight.ts'
import type { Settings } from '../settings/settings.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { createUpsert, type Upsert } from '../store/upsert.ts'
import { createMeshResyncer, type MeshResyncer } from './mesh-resyncer.ts'

const kinds = await loadKinds()
const byOperator = { writer: 'operator' }
const MIN = 1_000
const FULL = 20_000
let clock: FakeClock
let store: ResourceStore
let resyncer: MeshResyncer
let ending: AbortController
let running: Promise<void>
let tunables: Record<string, MutableTunable<number>>
let pending: (readonly [string, number | null])[]
/** What the next writes end with. */
let faults: CoreError[]
let written: number

beforeEach(async () => {
  clock = createFakeClock()
  store = createMemoryStore({ clock, kinds, instance: 'i' })
  tunables = { 'sink.mesh.minResyncMs': createTunable(MIN), 'sink.mesh.fullResyncMs': createTunable(FULL) }
  pending = []
  faults = []
  written = 0
  await store.create({ key: { type: 'Mesh', mesh: '', name: 'demo' }, spec: {} }, byOperator)
  const settings = {
    tunable: (key: string) => tunables[key],
    get: () => ({ version: '0', modifiedAt: null }),
  } as unknown as Pick<Settings, 'tunable' | 'get'>
  const real = createUpsert({ store, clock, random: () => 0, observer: { lost() {}, done() {}, gaveUp() {} } })
  const upsert: Upsert = (...args) => {
    const fault = faults.shift()
    if (fault !== undefined) return Promise.reject(fault)
    written++
    return real(...args)
  }
  resyncer = createMeshResyncer({
    clock,
    store,
    upsert,
    settings,
    kinds,
    board: { setPending: (key, since) => void pending.push([key.name, since]) },
    onFlushed: () => undefined,
    onLag: () => undefined,
    onError: () => undefined,
  })
  ending = new AbortController()
  running = resyncer.run(ending.signal)
  await clock.advance(0)
})
afterEach(end)

async function end() {
  ending.abort()
  await running
  expect(clock.pending()).toBe(0)
}

const insight = () => store.get<MeshInsight>({ type: 'MeshInsight', mesh: '', name: 'demo' })
const subscription = (over: Partial<Subscription> = {}): Subscription => ({
  id: 's',
  instance: 'i',
  variant: 'sotw',
  connectedAt: 1,
  generation: 1,
  types: {},
  agent: 'envoy 1.40.0',
  ...over,
})
async function dataplane(name: string, over: Partial<Subscription> | null = {}) {
  await store.create(
    { key: { type: 'Dataplane', mesh: 'demo', name }, spec: { networking: { address: 'a', inbound: [], outbound: [] } } },
    byOperator,
  )
  if (over !== null)
    await store.create({ key: { type: 'DataplaneInsight', mesh: 'demo', name }, spec: { subscriptions: [subscription(over)] } }, byOperator)
}
const rejecting: Partial<Subscription> = {
  types: { LDS: { sent: 1, acked: 0, nacked: 1, lastAt: 1, rejection: { reason: 'bad', since: 1 } } },
}

describe('the insight of a mesh', () => {
  it('counts its data planes by state and version, and its resources by type', async () => {
    await dataplane('web')
    await dataplane('bad', rejecting)
    await dataplane('gone', { disconnectedAt: 5, agent: 'envoy 1.39.0' })
    await dataplane('never', null)
    await clock.advance(MIN)
    expect((await insight()).spec).toMatchObject({
      dataplanes: { total: 4, online: 1, degraded: 1, offline: 2 },
      byVersion: {
        'envoy 1.40.0': { total: 2, online: 1, degraded: 1, offline: 0 },
        'envoy 1.39.0': { total: 1, offline: 1 },
        unknown: { total: 1, offline: 1 },
      },
      resources: { Dataplane: 4 },
    })
  })

  it('is written at most once per shortest time, and says meanwhile that something waits', async () => {
    await clock.advance(MIN)
    const before = written
    for (let index = 0; index < 10; index++) {
      await dataplane(`dp-${index}`)
      await clock.advance(50)
    }
    expect(written - before).toBeLessThanOrEqual(1)
    expect(pending.at(-1)).toEqual(['demo', expect.any(Number)])
    await clock.advance(MIN)
    expect((await insight()).spec.dataplanes.total).toBe(10)
    expect(pending.at(-1)).toEqual(['demo', null])
  })

  it('moves its generation with each full resync, and with nothing else', async () => {
    const first = (await insight()).spec.generation
    await dataplane('web')
    await clock.advance(MIN)
    expect((await insight()).spec.generation).toBe(first)
    await clock.advance(FULL)
    expect((await insight()).spec.generation).toBe(first + 1)
    tunables['sink.mesh.fullResyncMs']?.set(2_000)
    await clock.advance(2_000)
    expect((await insight()).spec.generation).toBeGreaterThan(first + 1)
  })

  it('that meets another write is left for the next tick, and counted', async () => {
    await clock.advance(MIN)
    faults = [new CoreError('conflict', 'newer')]
    await dataplane('web')
    await clock.advance(MIN)
    expect(resyncer.row().flushes.conflict).toBe(1)
    await clock.advance(MIN)
    expect((await insight()).spec.dataplanes.total).toBe(1)
  })

  it('goes with its mesh', async () => {
    await store.delete({ type: 'Mesh', mesh: '', name: 'demo' }, byOperator)
    await clock.advance(FULL * 2)
    await expect(insight()).rejects.toMatchObject({ code: 'not_found' })
    expect(resyncer.row().sessions).toBe(0)
  })
})

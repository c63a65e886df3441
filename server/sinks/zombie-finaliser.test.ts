import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import type { DataplaneInsight, Subscription } from '../model/insight.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { createUpsert } from '../store/upsert.ts'
import { createZombieFinaliser, type ZombieFinaliser } from './zombie-finaliser.ts'

const IDLE = 300_000
const key: ResourceKey = { type: 'DataplaneInsight', mesh: 'default', name: 'web-1' }
const subscription = (id: string, generation: number, over: Partial<Subscription> = {}): Subscription => ({
  id,
  instance: 'dead',
  variant: 'sotw',
  connectedAt: 1,
  generation,
  types: {},
  ...over,
})

describe('a subscription that nobody keeps alive', () => {
  let clock: FakeClock
  let store: ResourceStore
  let finaliser: ZombieFinaliser
  let ending: AbortController
  let running: Promise<void>
  const idleTimeoutMs = createTunable(IDLE)
  const live = new Set<string>()
  const errors: string[] = []

  beforeEach(async () => {
    live.clear()
    errors.length = 0
    idleTimeoutMs.set(IDLE)
    clock = createFakeClock()
    store = createMemoryStore({ clock, kinds: await loadKinds(), instance: 'cp-2' })
    await store.create({ key: { type: 'Mesh', mesh: '', name: 'default' }, spec: {} }, { writer: 'test' })
    await store.create(
      { key: { type: 'Dataplane', mesh: 'default', name: 'web-1' }, spec: { networking: { address: 'a', inbound: [], outbound: [] } } },
      { writer: 'test' },
    )
  })
  afterEach(end)

  async function end() {
    ending.abort()
    await running
    expect(clock.pending()).toBe(0)
    expect(errors).toEqual([])
  }

  function start(under: ResourceStore = store) {
    const upsert = createUpsert({ store: under, clock, random: () => 0.5 })
    finaliser = createZombieFinaliser({
      type: 'DataplaneInsight',
      clock,
      store: under,
      upsert,
      retry: () => ({ baseBackoffMs: 10, maxBackoffMs: 100, maxTimes: 5, jitterPercent: 0 }),
      idleTimeoutMs,
      isLive: (id) => live.has(id),
      onError: (what, error) => errors.push(`${what}: ${String(error)}`),
    })
    ending = new AbortController()
    running = finaliser.run(ending.signal)
  }
  const put = (...subscriptions: readonly Subscription[]) =>
    store.create<DataplaneInsight>({ key, spec: { subscriptions } }, { writer: 'dataplane-sink' })
  const write = async (present: Resource<DataplaneInsight>, ...subscriptions: readonly Subscription[]) =>
    store.update<DataplaneInsight>({ ...present, spec: { ...present.spec, subscriptions } }, { writer: 'dataplane-sink' })
  const stored = async () => (await store.get<DataplaneInsight>(key)).spec.subscriptions
  const closed = async () => (await stored()).map(({ disconnectedAt }) => disconnectedAt !== undefined)

  it('is closed after a whole idle period, and not before', async () => {
    await put(subscription('s1', 3))
    start()
    await clock.advance(IDLE - 1)
    expect(await closed()).toEqual([false])
    await clock.advance(1)
    expect(await stored()).toMatchObject([{ id: 's1', generation: 3, disconnectedAt: clock.now() }])
    expect(finaliser.size()).toBe(0)
  })

  it('is closed though it is not the last of its insight, while the last lives', async () => {
    const present = await put(subscription('old', 9), subscription('new', 1))
    start()
    await clock.advance(IDLE / 2)
    await write(present, subscription('old', 9), subscription('new', 2))
    await clock.advance(IDLE / 2)
    expect(await closed()).toEqual([true, false])
    await clock.advance(IDLE / 2)
    expect(await closed()).toEqual([true, true])
  })

  it('lives on while its generation moves, and a new one that begins lower is not one that went back', async () => {
    let present = await put(subscription('s1', 50))
    start()
    for (let beat = 51; beat < 56; beat++) {
      await clock.advance(IDLE - 1)
      present = await write(present, subscription('s1', beat))
    }
    expect(await closed()).toEqual([false])
    present = await write(present, subscription('s1', 56, { disconnectedAt: 1 }), subscription('s2', 1))
    await clock.advance(IDLE - 1)
    expect(await closed()).toEqual([true, false])
  })

  it('is left alone when a stream of this process stands behind it', async () => {
    await put(subscription('s1', 3))
    live.add('s1')
    start()
    await clock.advance(IDLE * 5)
    expect(await closed()).toEqual([false])
    live.clear()
    await clock.advance(IDLE)
    expect(await closed()).toEqual([true])
  })

  it('is not closed over the head of one who moved it at the last moment', async () => {
    const present = await put(subscription('s1', 3))
    const { update } = store
    let raced = false
    start({
      ...store,
      async update(resource, options) {
        if (!raced) {
          raced = true
          await update({ ...present, spec: { subscriptions: [subscription('s1', 4)] } }, { writer: 'dataplane-sink' })
        }
        return update(resource, options)
      },
    })
    await clock.advance(IDLE + 100)
    expect(await stored()).toEqual([subscription('s1', 4)])
  })

  it('has a whole period to be seen alive in after the idle period was shortened, for who keeps it alive only learns of it now', async () => {
    await put(subscription('s1', 3))
    start()
    await clock.advance(IDLE / 2)
    idleTimeoutMs.set(IDLE / 4)
    await clock.advance(IDLE / 4 - 1)
    expect(await closed()).toEqual([false])
    await clock.advance(1)
    expect(await closed()).toEqual([true])
  })

  it('is closed with all others of an instance that died, more than are looked at together, in one write for each insight', async () => {
    const names = Array.from({ length: 250 }, (_, index) => `dp-${index}`)
    for (const name of names) {
      const dataplane = { type: 'Dataplane', mesh: 'default', name }
      await store.create({ key: dataplane, spec: { networking: { address: 'a', inbound: [], outbound: [] } } }, { writer: 'test' })
      const spec = { subscriptions: [subscription(`${name}-1`, 1), subscription(`${name}-2`, 1)] }
      await store.create<DataplaneInsight>({ key: { ...key, name }, spec }, { writer: 'dataplane-sink' })
    }
    const writes: string[] = []
    start({
      ...store,
      update(resource, options) {
        writes.push(resource.key.name)
        return store.update(resource, options)
      },
    })
    await clock.advance(IDLE + 1)
    expect(finaliser.size()).toBe(0)
    expect(writes.toSorted()).toEqual(names.toSorted())
  })

  it('is forgotten with its insight', async () => {
    await put(subscription('s1', 3))
    start()
    await clock.advance(1)
    expect(finaliser.size()).toBe(1)
    await store.delete(key, { writer: 'test' })
    await clock.advance(IDLE * 2)
    expect(finaliser.size()).toBe(0)
  })
})

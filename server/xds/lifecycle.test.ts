import { describe, expect, it } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { createUpsert, type Upsert } from '../store/upsert.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'

const subject = { type: 'Dataplane', mesh: 'default', name: 'web-1' }
const dataplane: Dataplane = { networking: { address: '127.0.0.1', inbound: [], outbound: [] } }
const { signal } = new AbortController()
const DELAY = 10_000

async function make(instance = 'cp-1', shared?: ReturnType<typeof createMemoryStore>) {
  const clock = createFakeClock()
  const store = shared ?? createMemoryStore({ clock, kinds: await loadKinds(), instance })
  if (shared === undefined) await store.create({ key: { type: 'Mesh', mesh: '', name: 'default' }, spec: {} }, { writer: 'test' })
  const upsert = createUpsert({ store, clock, random: () => 0.5 })
  const deregistrationDelayMs = createTunable(DELAY)
  const faults: string[] = []
  const retry = () => ({ baseBackoffMs: 10, maxBackoffMs: 100, maxTimes: 5, jitterPercent: 0 })
  const lifecycle = createLifecycle({
    clock,
    store,
    cache: store,
    upsert,
    retry,
    deregistrationDelayMs,
    instance,
    onError: (what, error) => faults.push(`${what}: ${String(error)}`),
  })
  const ending = new AbortController()
  const running = lifecycle.run(ending.signal)
  const isThere = () =>
    store.get(subject).then(
      () => true,
      () => false,
    )
  const register = (sessionId: string) => lifecycle.register({ subject, sessionId, dataplane, signal })
  return {
    clock,
    store,
    lifecycle,
    isThere,
    register,
    deregistrationDelayMs,
    faults,
    async stop() {
      ending.abort()
      await running
      expect(faults).toEqual([])
      expect(clock.pending()).toBe(0)
    },
  }
}

/** One whose writes go the given way. */
function createLifecycleOver(store: ResourceStore, clock: FakeClock, around: (write: () => Promise<unknown>) => Promise<never>): Lifecycle {
  const upsert = createUpsert({ store, clock, random: () => 0.5 })
  return createLifecycle({
    clock,
    store,
    cache: store,
    upsert: ((...args: Parameters<Upsert>) => around(() => upsert(...args))) as Upsert,
    retry: () => ({ baseBackoffMs: 10, maxBackoffMs: 100, maxTimes: 5, jitterPercent: 0 }),
    deregistrationDelayMs: createTunable(DELAY),
    instance: 'cp-1',
    onError: (what, error) => expect.fail(`${what}: ${String(error)}`),
  })
}

describe('registration', () => {
  it('stores the Dataplane a node brings, with a marker of its session', async () => {
    const { register, store, stop } = await make()
    expect(await register('s1')).toMatchObject({ isNew: true, isOwn: true })
    expect((await store.get<Dataplane>(subject)).spec.session).toEqual({ id: 's1', instance: 'cp-1' })
    expect(await register('s2')).toMatchObject({ isNew: false })
    await stop()
  })

  it('takes one from the store for a node that brings none, and refuses with what to do when there is none', async () => {
    const { lifecycle, store, stop } = await make()
    const request = { subject, sessionId: 's1', dataplane: undefined, signal }
    await expect(lifecycle.register(request)).rejects.toThrow(/no Dataplane default.web-1.*dataplane.resource/)
    await store.create({ key: subject, spec: dataplane }, { writer: 'test' })
    expect(await lifecycle.register(request)).toMatchObject({ isOwn: false })
    await stop()
  })

  it('refuses a mesh that does not exist, by name', async () => {
    const { lifecycle, stop } = await make()
    await expect(lifecycle.register({ subject: { ...subject, mesh: 'nowhere' }, sessionId: 's1', dataplane, signal })).rejects.toThrow(
      /no mesh "nowhere"/,
    )
    await stop()
  })
})

describe('deregistration', () => {
  it('removes a data plane that stays away for the delay, not before', async () => {
    const { clock, register, lifecycle, isThere, stop } = await make()
    await register('s1')
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY - 1)
    expect(await isThere()).toBe(true)
    await clock.advance(1)
    expect(await isThere()).toBe(false)
    await stop()
  })

  it('is called off at once when it comes back within the delay', async () => {
    const { clock, register, lifecycle, isThere, stop } = await make()
    await register('s1')
    lifecycle.left(subject, 's1')
    await clock.advance(1_000)
    await register('s2')
    expect(lifecycle.pending()).toBe(0)
    await clock.advance(DELAY * 3)
    expect(await isThere()).toBe(true)
    await stop()
  })

  it('of an old stream leaves alone what a newer stream of the same data plane holds', async () => {
    const { clock, register, lifecycle, isThere, stop } = await make()
    await register('s1')
    await register('s2')
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY * 2)
    expect(await isThere()).toBe(true)
    lifecycle.left(subject, 's2')
    await clock.advance(DELAY)
    expect(await isThere()).toBe(false)
    await stop()
  })

  it('never hits a data plane that connected to another instance meanwhile', async () => {
    const first = await make('cp-1')
    const second = await make('cp-2', first.store)
    await first.register('s1')
    first.lifecycle.left(subject, 's1')
    await second.register('s2')
    await first.clock.advance(DELAY * 2)
    expect(await first.isThere()).toBe(true)
    await first.stop()
    await second.stop()
  })

  it('never comes from our own shutdown', async () => {
    const { clock, register, lifecycle, isThere, stop } = await make()
    await register('s1')
    lifecycle.left(subject, 's1')
    await stop()
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY * 2)
    expect(await isThere()).toBe(true)
  })

  it('never comes from our own shutdown, however short the delay and however long it takes', async () => {
    const { clock, register, lifecycle, isThere, deregistrationDelayMs, stop } = await make()
    deregistrationDelayMs.set(0)
    await register('s1')
    lifecycle.freeze()
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY)
    expect(await isThere()).toBe(true)
    await stop()
  })

  it('does not touch what was in the store before', async () => {
    const { clock, lifecycle, store, isThere, stop } = await make()
    await store.create({ key: subject, spec: dataplane }, { writer: 'test' })
    await lifecycle.register({ subject, sessionId: 's1', dataplane: undefined, signal })
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY * 2)
    expect(await isThere()).toBe(true)
    await stop()
  })

  it('waits for the last of several streams, also for one that brought no Dataplane of its own', async () => {
    const { clock, register, lifecycle, isThere, stop } = await make()
    await register('s1')
    await lifecycle.register({ subject, sessionId: 's2', dataplane: undefined, signal })
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY * 2)
    expect(await isThere()).toBe(true)
    lifecycle.left(subject, 's2')
    await clock.advance(DELAY)
    expect(await isThere()).toBe(false)
    await stop()
  })

  it('comes also for a registration that was cut off after its write', async () => {
    const { clock, store, lifecycle, isThere, stop } = await make()
    const cutOff = createLifecycleOver(store, clock, async (write) => {
      await write()
      throw new CoreError('aborted', 'the stream ended')
    })
    await expect(cutOff.register({ subject, sessionId: 's1', dataplane, signal })).rejects.toMatchObject({ code: 'aborted' })
    expect(await isThere()).toBe(true)
    await clock.advance(DELAY)
    expect(await isThere()).toBe(false)
    expect(cutOff.pending() + lifecycle.pending()).toBe(0)
    await stop()
  })

  it('is tried again when the store could not do it, and says so', async () => {
    const { clock, store, register, lifecycle, isThere, faults, stop } = await make()
    await register('s1')
    let failures = 2
    const { delete: really } = store
    store.delete = (key, options) => {
      if (failures-- > 0) return Promise.reject(new CoreError('unavailable', 'the store does not answer'))
      return really(key, options)
    }
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY)
    expect(await isThere()).toBe(true)
    await clock.advance(2_000)
    expect(await isThere()).toBe(false)
    expect(faults.splice(0)).toEqual(Array(2).fill(expect.stringMatching(/remove the Dataplane default.web-1.*does not answer/)))
    await stop()
  })

  it('looks again when the Dataplane was written meanwhile: an edit of its labels does not keep it', async () => {
    const { clock, store, register, lifecycle, isThere, stop } = await make()
    await register('s1')
    const { get: really } = store
    let edits = 1
    store.get = async (key, options) => {
      const read = await really(key, options)
      if (edits-- > 0) await store.update({ ...read, labels: { edited: 'yes' } }, { writer: 'operator' })
      return read as never
    }
    lifecycle.left(subject, 's1')
    await clock.advance(DELAY)
    store.get = really
    expect(await isThere()).toBe(false)
    await stop()
  })

  it('comes by the delay that is set now, counted from the end of the stream', async () => {
    const { clock, register, lifecycle, isThere, deregistrationDelayMs, stop } = await make()
    await register('s1')
    lifecycle.left(subject, 's1')
    await clock.advance(2_000)
    deregistrationDelayMs.set(3_000)
    await clock.advance(999)
    expect(await isThere()).toBe(true)
    await clock.advance(1)
    expect(await isThere()).toBe(false)
    await stop()
  })
})

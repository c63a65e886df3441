import { describe, expect, it } from 'vitest'
import { CoreError, isCoreError } from '../lib/errors.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import { createMemoryStore } from './memory-store.ts'
import { type CacheResult, createReadCache, invalidatingStore } from './read-cache.ts'
import { CONTRACT_INSTANCE, contractKinds } from './testing/contract-kinds.ts'

const key = (name = 'a'): ResourceKey => ({ type: 'Parent', mesh: '', name })
const TTL = 5_000

function make() {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock, kinds: contractKinds, instance: CONTRACT_INSTANCE })
  const ttlMs = createTunable(TTL)
  const results: CacheResult[] = []
  const loads = { count: 0 }
  let gate: Promise<unknown> = Promise.resolve()
  let failure: Error | undefined
  const slow = {
    ...store,
    async get<S>(wanted: ResourceKey): Promise<Resource<S>> {
      loads.count++
      const answer = store.get<S>(wanted)
      answer.catch(() => undefined)
      await gate
      if (failure !== undefined) throw failure
      return answer
    },
  }
  const cache = createReadCache({ store: slow, clock, ttlMs, onRequest: ({ result }) => results.push(result), maxEntries: 100 })
  const writing = invalidatingStore(store, cache)
  return {
    clock,
    store,
    writing,
    cache,
    ttlMs,
    results,
    loads,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    failWith: (error: Error | undefined) => (failure = error),
  }
}
const codeOf = (work: Promise<unknown>) =>
  work.then(() => 'ok').catch((error: unknown) => (isCoreError(error) ? error.code : String(error)))

describe('a read cache', () => {
  it('asks the store once per TTL and counts hits and misses apart', async () => {
    const { cache, clock, store, results, loads } = make()
    await store.create({ key: key(), spec: { n: 1 } }, { writer: 'w' })
    await cache.get(key())
    await cache.get(key())
    await clock.advance(TTL - 1)
    await cache.get(key())
    await clock.advance(1)
    await cache.get(key())
    expect(results).toEqual(['miss', 'hit', 'hit', 'miss'])
    expect(loads.count).toBe(2)
  })

  it('keeps its TTL whichever way the wall clock jumps', async () => {
    const { cache, clock, store, loads } = make()
    await store.create({ key: key(), spec: {} }, { writer: 'w' })
    await cache.get(key())
    clock.jump(3_600_000)
    await cache.get(key())
    expect(loads.count).toBe(1)
    clock.jump(-7_200_000)
    await clock.advance(TTL + 1)
    await cache.get(key())
    expect(loads.count).toBe(2)
  })

  it('loads once for all who ask meanwhile', async () => {
    const { cache, store, results, loads, hold } = make()
    await store.create({ key: key(), spec: { n: 1 } }, { writer: 'w' })
    const release = hold()
    const asked = [cache.get(key()), cache.get(key()), cache.get(key())]
    release()
    const values = await Promise.all(asked)
    expect(new Set(values).size).toBe(1)
    expect(loads.count).toBe(1)
    expect(results).toEqual(['miss', 'hit_wait', 'hit_wait'])
  })

  it('does not keep a failed load, and lets only those who waited share the failure', async () => {
    const { cache, store, loads, failWith } = make()
    await store.create({ key: key(), spec: {} }, { writer: 'w' })
    failWith(new CoreError('unavailable', 'down'))
    expect(await Promise.all([codeOf(cache.get(key())), codeOf(cache.get(key()))])).toEqual(['unavailable', 'unavailable'])
    failWith(undefined)
    expect(await codeOf(cache.get(key()))).toBe('ok')
    expect(loads.count).toBe(2)
    expect(cache.size()).toEqual({ loading: 0, kept: 1, lists: 0 })
  })

  it('does not fail the others when the first who asked goes away', async () => {
    const { cache, store, loads, hold } = make()
    await store.create({ key: key(), spec: {} }, { writer: 'w' })
    const release = hold()
    const leaving = new AbortController()
    const first = codeOf(cache.get(key(), { signal: leaving.signal }))
    const second = codeOf(cache.get(key()))
    leaving.abort()
    expect(await first).toBe('aborted')
    release()
    expect(await second).toBe('ok')
    expect(loads.count).toBe(1)
  })

  it('keeps that something is not there, until it is written', async () => {
    const { cache, writing, loads } = make()
    expect(await codeOf(cache.get(key()))).toBe('not_found')
    expect(await codeOf(cache.get(key()))).toBe('not_found')
    expect(loads.count).toBe(1)
    await writing.create({ key: key(), spec: {} }, { writer: 'w' })
    expect(await codeOf(cache.get(key()))).toBe('ok')
  })

  it('forgets everything when the change feed has a gap', async () => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock, kinds: contractKinds, instance: CONTRACT_INSTANCE, maxBacklog: 2 })
    const cache = createReadCache({ store, clock, ttlMs: createTunable(TTL) })
    const created = await store.create({ key: key(), spec: { n: 1 } }, { writer: 'w' })
    const ending = new AbortController()
    const running = cache.run(ending.signal)
    await cache.get(key())
    const batch = Array.from({ length: 3 }, (_, n) => ({ kind: 'create', draft: { key: key(`n${n}`), spec: {} } }) as const)
    await store.writeBatch([{ kind: 'update', resource: { ...created, spec: { n: 2 } } }, ...batch], { writer: 'elsewhere' })
    await clock.advance(0)
    expect((await cache.get(key())).spec).toEqual({ n: 2 })
    ending.abort()
    await running
  })

  it('shows a local write to its writer at once, in gets and lists', async () => {
    const { cache, writing } = make()
    const created = await writing.create({ key: key(), spec: { n: 1 } }, { writer: 'w' })
    await cache.get(key())
    await cache.list({ type: 'Parent' })
    await writing.update({ ...created, spec: { n: 2 } }, { writer: 'w' })
    expect((await cache.get(key())).spec).toEqual({ n: 2 })
    expect((await cache.list({ type: 'Parent' })).items[0]?.spec).toEqual({ n: 2 })
    await writing.writeBatch([{ kind: 'delete', key: key() }], { writer: 'w' })
    expect((await cache.list({ type: 'Parent' })).items).toEqual([])
  })

  it('does not keep, or hand to later readers, a load that began before a write', async () => {
    const { cache, writing, hold } = make()
    const created = await writing.create({ key: key(), spec: { n: 1 } }, { writer: 'w' })
    const release = hold()
    const early = cache.get(key())
    await writing.update({ ...created, spec: { n: 2 } }, { writer: 'w' })
    const late = cache.get(key())
    release()
    expect((await early).spec).toEqual({ n: 1 })
    expect((await late).spec).toEqual({ n: 2 })
    expect((await cache.get(key())).spec).toEqual({ n: 2 })
  })

  it('does not keep a load that began before a write when nobody asks again meanwhile', async () => {
    const { cache, writing, hold } = make()
    const created = await writing.create({ key: key(), spec: { n: 1 } }, { writer: 'w' })
    const release = hold()
    const early = cache.get(key())
    await writing.update({ ...created, spec: { n: 2 } }, { writer: 'w' })
    release()
    expect((await early).spec).toEqual({ n: 1 })
    expect(cache.size()).toEqual({ loading: 0, kept: 0, lists: 0 })
    expect((await cache.get(key())).spec).toEqual({ n: 2 })
  })

  it('learns of writes made elsewhere from the change feed', async () => {
    const { cache, store, clock } = make()
    const created = await store.create({ key: key(), spec: { n: 1 } }, { writer: 'w' })
    const ending = new AbortController()
    const running = cache.run(ending.signal)
    await cache.get(key())
    await store.update({ ...created, spec: { n: 2 } }, { writer: 'elsewhere' })
    await clock.advance(0)
    expect((await cache.get(key())).spec).toEqual({ n: 2 })
    ending.abort()
    await running
  })

  it('hands out frozen values', async () => {
    const { cache, store } = make()
    await store.create({ key: key(), spec: { list: [1] } }, { writer: 'w' })
    const { spec } = await cache.get<{ list: number[] }>(key())
    expect(() => spec.list.push(2)).toThrow(TypeError)
    const { items } = await cache.list({ type: 'Parent' })
    expect(items[0]?.spec).toEqual({ list: [1] })
  })

  it('leaves nothing under way behind and stays within its bound over many misses', async () => {
    const { cache } = make()
    await Promise.all(Array.from({ length: 10_000 }, (_, index) => codeOf(cache.get(key(`n${index}`)))))
    expect(cache.size()).toEqual({ loading: 0, kept: 100, lists: 0 })
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => cache.list({ type: 'Parent', mesh: `m${index}` })))
    expect(cache.size()).toEqual({ loading: 0, kept: 100, lists: 100 })
    await codeOf(cache.list({ type: 'Parent', limit: -1 }))
    await codeOf(cache.list({ type: 'Unknown' }))
    expect(cache.size()).toEqual({ loading: 0, kept: 100, lists: 100 })
    cache.invalidate(key())
    expect(cache.size()).toEqual({ loading: 0, kept: 0, lists: 0 })
  })

  it('leaves nothing behind when all who waited have gone', async () => {
    const { cache, store, hold } = make()
    await store.create({ key: key(), spec: {} }, { writer: 'w' })
    const release = hold()
    const leaving = new AbortController()
    const asked = [codeOf(cache.get(key(), { signal: leaving.signal })), codeOf(cache.get(key(), { signal: leaving.signal }))]
    leaving.abort()
    expect(await Promise.all(asked)).toEqual(['aborted', 'aborted'])
    release()
    await codeOf(cache.get(key()))
    expect(cache.size()).toMatchObject({ loading: 0 })
    expect(await codeOf(cache.get(key(), { signal: leaving.signal }))).toBe('aborted')
  })

  it('does not show its deleter what went with the deleted', async () => {
    const { cache, writing } = make()
    const owned = { type: 'Child', mesh: 'a', name: 'c' }
    await writing.create({ key: key(), spec: {} }, { writer: 'w' })
    await writing.create({ key: owned, spec: {} }, { writer: 'w' })
    await cache.get(owned)
    await cache.list({ type: 'Child' })
    await writing.delete(key(), { writer: 'w' })
    expect(await codeOf(cache.get(owned))).toBe('not_found')
    expect((await cache.list({ type: 'Child' })).items).toEqual([])
  })

  it('tells questions apart by every part of them', async () => {
    const { cache, store } = make()
    for (const name of ['a', 'b']) await store.create({ key: key(name), spec: {}, labels: { name } }, { writer: 'w' })
    const sizes: number[] = []
    for (const part of [{}, { limit: 1 }, { mesh: 'x' }, { labels: { name: 'b' } }, { keys: [] }, { keys: [key('a')] }])
      sizes.push((await cache.list({ type: 'Parent', ...part })).items.length)
    expect(sizes).toEqual([2, 1, 0, 1, 0, 1])
    const { nextCursor } = await cache.list({ type: 'Parent', limit: 1 })
    expect((await cache.list({ type: 'Parent', limit: 1, cursor: nextCursor! })).items[0]?.key.name).toBe('b')
  })

  it('counts the age of what took long to load from when it was asked for', async () => {
    const { cache, store, clock, loads, hold } = make()
    await store.create({ key: key(), spec: {} }, { writer: 'w' })
    const release = hold()
    const slow = cache.get(key())
    await clock.advance(TTL - 1)
    release()
    await slow
    await cache.get(key())
    expect(loads.count).toBe(1)
    await clock.advance(1)
    await cache.get(key())
    expect(loads.count).toBe(2)
  })

  it('asks every time when the TTL is 0, and takes a new TTL at once', async () => {
    const { cache, store, ttlMs, loads } = make()
    await store.create({ key: key(), spec: {} }, { writer: 'w' })
    await cache.get(key())
    ttlMs.set(0)
    await cache.get(key())
    await cache.get(key())
    expect(loads.count).toBe(3)
  })
})

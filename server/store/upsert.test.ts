import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CoreError, isCoreError } from '../lib/errors.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { LostTo, Resource, ResourceKey } from '../model/resource.ts'
import { createMemoryStore } from './memory-store.ts'
import type { ResourceStore } from './resource-store.ts'
import { CONTRACT_INSTANCE, contractKinds } from './testing/contract-kinds.ts'
import { type ConflictRetry, createUpsert, type UpsertObserver } from './upsert.ts'

const key: ResourceKey = { type: 'Parent', mesh: '', name: 'r' }
const retry: ConflictRetry = { baseBackoffMs: 100, maxBackoffMs: 2_000, maxTimes: 3, jitterPercent: 0 }
interface Spec {
  readonly list: readonly string[]
}
const pushX = (present: Resource<Spec> | undefined): Spec => ({ list: [...(present?.spec.list ?? []), 'x'] })

/** A store that does something of its own just before the nth write, as another writer would. */
function make(interfere: (store: ResourceStore, write: number) => Promise<void> = async () => undefined) {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock, kinds: contractKinds, instance: CONTRACT_INSTANCE })
  const calls = { get: 0, create: 0, update: 0 }
  const told: string[] = []
  const observer: UpsertObserver = {
    lost: ({ lostTo }) => told.push(`lost to ${lostTo?.writer}`),
    done: ({ result }) => told.push(result.outcome),
    gaveUp: ({ attempts, error }) => told.push(`gave up after ${attempts}: ${error.code}`),
  }
  const watched: ResourceStore = {
    ...store,
    get(wanted, options) {
      calls.get++
      return store.get(wanted, options)
    },
    async create(draft, options) {
      calls.create++
      await interfere(store, calls.create + calls.update)
      return store.create(draft, options)
    },
    async update(resource, options) {
      calls.update++
      await interfere(store, calls.create + calls.update)
      return store.update(resource, options)
    },
  }
  return { clock, store, calls, told, upsert: createUpsert({ store: watched, clock, random: () => 0.5, observer }) }
}
async function other(store: ResourceStore, value: string) {
  const present = await store.get<Spec>(key)
  await store.update({ ...present, spec: { list: [...present.spec.list, value] } }, { writer: 'other' })
}

/** Different each time, the same each run: enough to keep two writers out of step. */
function seededHalf() {
  let draw = 0
  return () => (draw += 0.381) % 1
}

describe('upsert', () => {
  it('creates what is absent, updates what is there, and writes nothing when nothing changes', async () => {
    const { upsert, store, calls } = make()
    expect(await upsert<Spec>(key, () => ({ list: [] }), { writer: 'w' })).toMatchObject({ outcome: 'created', attempts: 1, conflicts: [] })
    expect(await upsert<Spec>(key, pushX, { writer: 'w' })).toMatchObject({ outcome: 'updated' })
    const { version } = await store.get(key)
    expect(await upsert<Spec>(key, () => ({ list: ['x'] }), { writer: 'w' })).toMatchObject({ outcome: 'unchanged' })
    expect(await upsert<Spec>(key, (present) => present!.spec, { writer: 'w' })).toMatchObject({ outcome: 'unchanged' })
    expect((await store.get(key)).version).toBe(version)
    expect(calls).toEqual({ get: 4, create: 1, update: 1 })
  })

  it('makes exactly one attempt unless asked to retry', async () => {
    const { upsert, store, calls, told, clock } = make((under) => other(under, 'o'))
    await store.create({ key, spec: { list: [] } }, { writer: 'other' })
    const error: unknown = await upsert<Spec>(key, pushX, { writer: 'w' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'conflict', details: { attempts: 1, conflicts: [{ writer: 'other' }] } })
    expect(calls).toMatchObject({ get: 1, update: 1 })
    expect(told).toEqual(['lost to other', 'gave up after 1: conflict'])
    expect(clock.pending()).toBe(0)
  })

  it('reads again and runs the edit on the fresh copy after a conflict, never twice on the same', async () => {
    const { upsert, store, calls, told, clock } = make(async (under, write) => (write === 1 ? other(under, 'o') : undefined))
    await store.create({ key, spec: { list: [] } }, { writer: 'other' })
    const working = upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: retry })
    await clock.advance(100)
    expect(await working).toMatchObject({
      outcome: 'updated',
      attempts: 2,
      conflicts: [{ writer: 'other', certainty: 'exact' } satisfies Partial<LostTo>],
    })
    expect((await store.get<Spec>(key)).spec.list).toEqual(['o', 'x'])
    expect(calls).toMatchObject({ get: 2, update: 2 })
    expect(told).toEqual(['lost to other', 'updated'])
  })

  it('goes on with an update when another created it in between, and with a create when another deleted it', async () => {
    const created = make(async (under, write) =>
      write === 1 ? void (await under.create({ key, spec: { list: ['o'] } }, { writer: 'other' })) : undefined,
    )
    const first = created.upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: retry })
    await created.clock.advance(100)
    expect(await first).toMatchObject({
      outcome: 'updated',
      resource: { spec: { list: ['o', 'x'] } },
      conflicts: [{ writer: 'other', certainty: 'exact' }],
    })
    expect(created.told).toEqual(['lost to other', 'updated'])

    const deleted = make(async (under, write) => (write === 1 ? under.delete(key, { writer: 'other' }) : undefined))
    await deleted.store.create({ key, spec: { list: ['o'] } }, { writer: 'other' })
    const second = deleted.upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: retry })
    await deleted.clock.advance(100)
    expect(await second).toMatchObject({ outcome: 'created', resource: { spec: { list: ['x'] } } })
  })

  it('gives up after as many retries as allowed, with growing, capped waits', async () => {
    const { upsert, store, calls, told, clock } = make((under) => other(under, 'o'))
    await store.create({ key, spec: { list: [] } }, { writer: 'other' })
    const working = upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: { ...retry, maxBackoffMs: 250 } }).catch(
      (thrown: unknown) => thrown,
    )
    const waits: number[] = []
    await clock.advance(0)
    for (let lap = 1; lap <= 3; lap++) {
      const before = clock.monotonic()
      while (calls.update === lap) await clock.advance(1)
      waits.push(clock.monotonic() - before)
    }
    expect(waits).toEqual([100, 200, 250])
    expect(await working).toMatchObject({ code: 'conflict', details: { attempts: 4 } })
    expect(told.at(-1)).toBe('gave up after 4: conflict')
    expect(clock.pending()).toBe(0)
  })

  for (const never of [{ maxTimes: 0 }, { baseBackoffMs: 0 }, { baseBackoffMs: -5 }]) {
    it(`makes one attempt with ${JSON.stringify(never)}`, async () => {
      const { upsert, store, calls } = make((under) => other(under, 'o'))
      await store.create({ key, spec: { list: [] } }, { writer: 'other' })
      await upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: { ...retry, ...never } }).catch(() => undefined)
      expect(calls.update).toBe(1)
    })
  }

  it('retries what is marked safe to retry, and nothing else', async () => {
    for (const [safeToRetry, updates] of [
      [true, 2],
      [false, 1],
    ] as const) {
      const { upsert, store, calls, clock } = make(async (_under, write) => {
        if (write === 1) throw new CoreError('unavailable', 'down', { safeToRetry })
      })
      await store.create({ key, spec: { list: [] } }, { writer: 'other' })
      const working = upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: retry }).catch((thrown: unknown) => thrown)
      await clock.advance(100)
      expect(isCoreError(await working)).toBe(!safeToRetry)
      expect(calls.update).toBe(updates)
    }
  })

  it('ends at once when its signal aborts during a wait', async () => {
    const { upsert, store, clock } = make((under) => other(under, 'o'))
    await store.create({ key, spec: { list: [] } }, { writer: 'other' })
    const ending = new AbortController()
    const working = upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: retry, signal: ending.signal }).catch(
      (thrown: unknown) => thrown,
    )
    await clock.advance(10)
    ending.abort()
    expect(await working).toMatchObject({ code: 'aborted' })
    expect(clock.pending()).toBe(0)
  })

  it('takes an already_exists after a write that was made without an answer as a reason to read again', async () => {
    const { upsert, store, calls, clock } = make(async (under, write) => {
      if (write > 1) return
      await under.create({ key, spec: { list: ['x'] } }, { writer: 'w' })
      throw new CoreError('unavailable', 'no answer', { safeToRetry: true })
    })
    const working = upsert<Spec>(key, (present) => ({ list: [...new Set([...(present?.spec.list ?? []), 'x'])] }), {
      writer: 'w',
      conflictRetry: retry,
    })
    await clock.advance(1_000)
    expect(await working).toMatchObject({ outcome: 'unchanged' })
    expect((await store.get<Spec>(key)).spec.list).toEqual(['x'])
    expect(calls).toMatchObject({ create: 1, update: 0 })
  })

  it('hangs what it creates on its owner, and says so when that is not there', async () => {
    const { upsert, store } = make()
    const owned = { type: 'Child', mesh: 'r', name: 'c' }
    await expect(upsert(owned, () => ({}), { writer: 'w', conflictRetry: retry })).rejects.toMatchObject({
      code: 'owner_missing',
      details: { attempts: 1 },
    })
    await upsert(key, () => ({ list: [] }), { writer: 'w' })
    await upsert(owned, () => ({}), { writer: 'w' })
    await store.delete(key, { writer: 'w' })
    expect((await store.list({ type: 'Child' })).items).toEqual([])
  })

  it('keeps the status that is there now, not the one of an attempt that was lost', async () => {
    const { upsert, store, clock } = make(async (under, write) => {
      if (write > 1) return
      const present = await under.get<Spec>(key)
      await under.update({ ...present, status: { seen: 2 } }, { writer: 'other' })
    })
    await store.create({ key, spec: { list: [] }, status: { seen: 1 } }, { writer: 'other' })
    const working = upsert<Spec>(key, pushX, { writer: 'w', conflictRetry: retry })
    await clock.advance(100)
    await working
    expect(await store.get(key)).toMatchObject({ spec: { list: ['x'] }, status: { seen: 2 } })
  })

  it('takes what is stored the same for unchanged: an undefined field, -0', async () => {
    const { upsert, store } = make()
    await store.create({ key, spec: { list: [], n: 0 } }, { writer: 'other' })
    expect(await upsert(key, () => ({ n: -0, list: [], left: undefined }), { writer: 'w' })).toMatchObject({ outcome: 'unchanged' })
  })

  it('fails as its mutate does, and writes nothing', async () => {
    const { upsert, calls, told } = make()
    const fault = new CoreError('invalid', 'no such zone')
    const throwing = upsert(
      key,
      () => {
        throw fault
      },
      { writer: 'w', conflictRetry: retry },
    )
    await expect(throwing).rejects.toMatchObject({ code: 'invalid', cause: fault })
    expect(calls.update).toBe(0)
    expect(told.at(-1)).toBe('gave up after 1: invalid')
  })

  it('never waits longer than its policy allows, whatever that is', async () => {
    const policy = fc.record({
      baseBackoffMs: fc.integer({ min: 1, max: 5_000 }),
      maxBackoffMs: fc.integer({ min: 0, max: 3_000 }),
      maxTimes: fc.integer({ min: 0, max: 8 }),
      jitterPercent: fc.integer({ min: 0, max: 100 }),
    })
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    await fc.assert(
      fc.asyncProperty(policy, chance, async (conflictRetry, random) => {
        const waits: number[] = []
        const store = createMemoryStore({ clock: createFakeClock(), kinds: contractKinds, instance: CONTRACT_INSTANCE })
        const refusing = { ...store, create: () => Promise.reject(new CoreError('already_exists', 'there')) }
        const upsert = createUpsert({ store: refusing, clock: { sleep: async (ms) => void waits.push(ms) }, random: () => random })
        await upsert(key, () => ({}), { writer: 'w', conflictRetry }).catch(() => undefined)
        expect(waits).toHaveLength(conflictRetry.maxTimes)
        for (const ms of waits) expect(ms >= 0 && ms <= conflictRetry.maxBackoffMs).toBe(true)
      }),
    )
  })

  it('replaces labels only if they are given', async () => {
    const { upsert, store } = make()
    await upsert<Spec>(key, () => ({ list: [] }), { writer: 'w', labels: { a: '1' } })
    await upsert<Spec>(key, pushX, { writer: 'w' })
    expect((await store.get(key)).labels).toEqual({ a: '1' })
    expect(await upsert<Spec>(key, (present) => present!.spec, { writer: 'w', labels: { b: '2' } })).toMatchObject({
      outcome: 'updated',
      resource: { labels: { b: '2' } },
    })
  })

  it('loses neither of two writers who only retry', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), async (rounds) => {
        const clock = createFakeClock()
        const store = createMemoryStore({ clock, kinds: contractKinds, instance: CONTRACT_INSTANCE })
        const upsert = createUpsert({ store, clock, random: seededHalf() })
        const add = (value: string) =>
          upsert<Spec>(key, (present) => ({ list: [...(present?.spec.list ?? []), value] }), {
            writer: value,
            conflictRetry: { ...retry, maxTimes: 50, jitterPercent: 100 },
          })
        const values = Array.from({ length: rounds }, (_, round) => [`a${round}`, `b${round}`]).flat()
        const working = Promise.all(values.map(add))
        await clock.advance(120_000)
        await working
        expect((await store.get<Spec>(key)).spec.list.toSorted()).toEqual(values.toSorted())
      }),
      { numRuns: 10 },
    )
  })
})

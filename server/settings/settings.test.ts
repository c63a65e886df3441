import { describe, expect, it } from 'vitest'
import { CoreError, isCoreError } from '../lib/errors.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { Setting } from '../model/kinds/setting.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { SettingRow, SettingValue } from '../model/views.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { CHANGES_KEPT } from './change-history.ts'
import { createSettings, type Settings } from './settings.ts'

const INTERVAL = 'sink.dataplane.flushIntervalMs'
const BACKOFF = 'sink.dataplane.flushBackoffMs'
const intervalKey = { type: 'Setting', mesh: '', name: INTERVAL }
const kinds = await loadKinds()

interface World {
  readonly store: ResourceStore
  readonly clock: ReturnType<typeof createFakeClock>
  readonly errors: readonly string[]
  /** One more process on the same store. */
  start(options?: { first?: Record<string, SettingValue>; store?: ResourceStore }): Promise<Running>
}
interface Running extends Settings {
  stop(): Promise<void>
}

function createWorld(maxBacklog?: number): World {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock, kinds, instance: 'test', ...(maxBacklog !== undefined && { maxBacklog }) })
  const errors: string[] = []
  let ids = 0
  return {
    store,
    clock,
    errors,
    async start({ first, store: own = store } = {}) {
      const settings = createSettings({
        store: own,
        clock,
        newId: () => `change-${++ids}`,
        onError: (what, error) => errors.push(`could not ${what}: ${(error as Error).message}`),
      })
      await settings.load(first)
      const ending = new AbortController()
      const done = settings.run(ending.signal)
      await clock.advance(0)
      return {
        ...settings,
        async stop() {
          ending.abort()
          await done
        },
      }
    },
  }
}

/** Under the version that is current. */
const set = (settings: Settings, key: string, value: SettingValue) =>
  settings.apply({ key, value, expectedVersion: settings.get(key).version, by: 'ada' })
const refusalOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isCoreError(error)) throw new Error('it was not refused')
  return error
}

describe('a setting that nobody changed', () => {
  it('has its default and version "0"', async () => {
    const settings = await createWorld().start()
    expect(settings.get(INTERVAL)).toMatchObject({ value: 10_000, default: 10_000, version: '0', modifiedAt: null, modifiedBy: null })
    expect(settings.history()).toEqual([])
    await settings.stop()
  })

  it('has the first value of the configuration, still as version "0"', async () => {
    const settings = await createWorld().start({ first: { [INTERVAL]: 5000 } })
    expect(settings.get(INTERVAL)).toMatchObject({ value: 5000, default: 10_000, version: '0' })
    expect(settings.tunable(INTERVAL).get()).toBe(5000)
    await settings.stop()
  })

  it('refuses a first value that is none, or that is at odds with another', async () => {
    const world = createWorld()
    expect(await refusalOf(world.start({ first: { [INTERVAL]: 1 } }))).toMatchObject({ code: 'invalid' })
    expect(await refusalOf(world.start({ first: { 'sink.flush': 1000 } }))).toMatchObject({ code: 'not_found' })
    expect(await refusalOf(world.start({ first: { [INTERVAL]: 1000, [BACKOFF]: 2000 } }))).toMatchObject({
      details: { relation: { low: BACKOFF, high: INTERVAL } },
    })
  })
})

describe('a change', () => {
  it('is in force, read and told before its caller is answered', async () => {
    const settings = await createWorld().start()
    const ending = new AbortController()
    const seen: unknown[] = []
    settings.tunable(INTERVAL).watch((value) => seen.push(value), ending.signal)
    settings.onChange((row) => seen.push([row.key, row.value]), ending.signal)
    const { changeId, setting } = await set(settings, INTERVAL, 1000)
    expect(seen).toEqual([1000, [INTERVAL, 1000]])
    expect(setting).toEqual(settings.get(INTERVAL))
    expect(setting).toMatchObject({ value: 1000, modifiedBy: 'ada' })
    expect(setting.version).not.toBe('0')
    expect(settings.history()).toMatchObject([{ changeId, key: INTERVAL, from: 10_000, to: 1000, by: 'ada', version: setting.version }])
    ending.abort()
    await settings.stop()
  })

  it('under a version that is no longer current is refused, naming who changed it, when and to what', async () => {
    const { start, clock } = createWorld()
    const settings = await start()
    const seen = settings.get(INTERVAL).version
    await clock.advance(5000)
    const { setting } = await set(settings, INTERVAL, 1000)
    const refusal = await refusalOf(settings.apply({ key: INTERVAL, value: 2000, expectedVersion: seen, by: 'grace' }))
    expect(refusal).toMatchObject({
      code: 'conflict',
      message: `${INTERVAL} was changed to 1000 by ada since you read it: look at it again before you change it`,
      details: { changedBy: 'ada', changedAt: clock.now(), value: 1000, version: setting.version },
    })
    expect(settings.get(INTERVAL)).toEqual(setting)
    expect(settings.history()).toHaveLength(1)
    await settings.stop()
  })

  it('under a version that never was is refused', async () => {
    const settings = await createWorld().start()
    const refusal = await refusalOf(settings.apply({ key: INTERVAL, value: 2000, expectedVersion: '7', by: 'ada' }))
    expect(refusal).toMatchObject({ code: 'conflict', details: { changedBy: null, version: '0' } })
    await settings.stop()
  })

  it('of two made at the same time under one version only the first stands', async () => {
    const settings = await createWorld().start()
    const apply = (value: number, by: string) => settings.apply({ key: INTERVAL, value, expectedVersion: '0', by })
    const [first, second] = await Promise.allSettled([apply(1000, 'ada'), apply(2000, 'grace')])
    expect(first.status).toBe('fulfilled')
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'conflict', details: { changedBy: 'ada', value: 1000 } } })
    await settings.stop()
  })

  it('of two made at the same time that are at odds only the first stands', async () => {
    const settings = await createWorld().start()
    const [pause, interval] = await Promise.allSettled([set(settings, BACKOFF, 5000), set(settings, INTERVAL, 1000)])
    expect(pause.status).toBe('fulfilled')
    expect(interval).toMatchObject({ status: 'rejected', reason: { code: 'invalid', details: { relation: { low: BACKOFF } } } })
    await settings.stop()
  })

  it('stands when the clock was set back before it', async () => {
    const { start, clock } = createWorld()
    const settings = await start()
    await set(settings, INTERVAL, 1000)
    clock.jump(-3_600_000)
    await set(settings, INTERVAL, 2000)
    await clock.advance(0)
    expect(settings.get(INTERVAL).value).toBe(2000)
    expect(settings.history().map(({ to }) => to)).toEqual([2000, 1000])
    await settings.stop()
  })

  it('that the store refuses leaves neither a value nor a trace', async () => {
    const { start, store } = createWorld()
    const settings = await start({
      store: { ...store, writeBatch: () => Promise.reject(new CoreError('unavailable', 'the disk is full')) },
    })
    expect(await refusalOf(set(settings, INTERVAL, 1000))).toMatchObject({ code: 'unavailable' })
    expect(settings.get(INTERVAL)).toMatchObject({ value: 10_000, version: '0' })
    expect(settings.history()).toEqual([])
    await settings.stop()
  })

  it('whose trace cannot be kept is not made', async () => {
    const { start, store } = createWorld()
    const settings = await start({
      store: {
        ...store,
        writeBatch: ([setting, change], options) =>
          store.writeBatch(
            [setting!, { ...change!, draft: { key: { type: 'Nothing', mesh: '', name: 'x' }, spec: {} } } as never],
            options,
          ),
      },
    })
    expect(await refusalOf(set(settings, INTERVAL, 1000))).toMatchObject({ code: 'invalid', message: expect.stringContaining('Nothing') })
    expect(await refusalOf(store.get(intervalKey))).toMatchObject({ code: 'not_found' })
    expect(settings.get(INTERVAL).version).toBe('0')
    await settings.stop()
  })
})

describe('a change made by another process', () => {
  it('is in force here as soon as the feed tells of it', async () => {
    const { start, clock } = createWorld()
    const [here, there] = [await start(), await start()]
    await set(there, INTERVAL, 1000)
    await clock.advance(0)
    expect(here.get(INTERVAL)).toEqual(there.get(INTERVAL))
    expect(here.tunable(INTERVAL).get()).toBe(1000)
    expect(here.history()).toEqual(there.history())
    await Promise.all([here.stop(), there.stop()])
  })

  it('meets ours in the store: the later one is refused, and sees the other at once', async () => {
    const { start } = createWorld()
    const [here, there] = [await start(), await start()]
    const [ours, theirs] = await Promise.allSettled([
      here.apply({ key: INTERVAL, value: 1000, expectedVersion: '0', by: 'ada' }),
      there.apply({ key: INTERVAL, value: 2000, expectedVersion: '0', by: 'grace' }),
    ])
    expect(ours.status).toBe('fulfilled')
    expect(theirs).toMatchObject({ status: 'rejected', reason: { code: 'conflict', details: { changedBy: 'ada', value: 1000 } } })
    expect(there.get(INTERVAL).value).toBe(1000)
    await Promise.all([here.stop(), there.stop()])
  })

  it('is not undone by what the feed still brings of our own older ones', async () => {
    const { start, clock } = createWorld()
    const settings = await start()
    const seen: SettingRow['value'][] = []
    const ending = new AbortController()
    settings.tunable(INTERVAL).watch((value) => seen.push(value), ending.signal)
    for (const value of [1000, 2000, 3000, 4000]) await set(settings, INTERVAL, value)
    await clock.advance(0)
    expect(seen).toEqual([1000, 2000, 3000, 4000])
    ending.abort()
    await settings.stop()
  })

  it('is seen after a gap in the feed', async () => {
    const { start, store, clock } = createWorld(2)
    const settings = await start()
    const names = ['cache.ttlMs', 'xds.nackBackoffMs', 'upsert.maxTimes']
    const spec: Setting = { value: 7, changeId: 'c', at: clock.now(), by: 'grace' }
    // Three at once are more than the feed keeps for a reader.
    await store.writeBatch(
      names.map((name) => ({ kind: 'create', draft: { key: { type: 'Setting', mesh: '', name }, spec } })),
      { writer: 'settings' },
    )
    await clock.advance(0)
    expect(names.map((name) => settings.get(name).value)).toEqual([7, 7, 7])
    await settings.stop()
  })

  it('that removes it brings the first value back', async () => {
    const { start, store, clock } = createWorld()
    const settings = await start({ first: { [INTERVAL]: 5000 } })
    await set(settings, INTERVAL, 1000)
    await store.delete(intervalKey, { writer: 'test' })
    await clock.advance(0)
    expect(settings.get(INTERVAL)).toMatchObject({ value: 5000, version: '0', modifiedBy: null })
    await settings.stop()
  })

  it('that this version does not allow is reported, and the first value is in force', async () => {
    const { start, store, clock, errors } = createWorld()
    const settings = await start()
    const spec: Setting = { value: 5, changeId: 'c', at: clock.now(), by: 'a newer version' }
    await store.create({ key: intervalKey, spec }, { writer: 'settings' })
    await clock.advance(0)
    expect(settings.get(INTERVAL)).toMatchObject({ value: 10_000, modifiedBy: 'a newer version' })
    expect(errors).toEqual([
      `could not take a stored setting, so ${INTERVAL} is 10000: ${INTERVAL} must be from 100 to 600000 ms; 5 is too small`,
    ])
    // And can be mended under its version.
    await set(settings, INTERVAL, 1000)
    expect(settings.get(INTERVAL).value).toBe(1000)
    await settings.stop()
  })
})

describe('what operators set', () => {
  it('is there after a restart, and wins over first values', async () => {
    const world = createWorld()
    const before = await world.start()
    await set(before, INTERVAL, 1000)
    await set(before, 'cache.ttlMs', 0)
    const [rows, changes] = [before.list(), before.history()]
    await before.stop()
    const after = await world.start({ first: { [INTERVAL]: 5000 } })
    expect(after.list()).toEqual(rows)
    expect(after.history()).toEqual(changes)
    await after.stop()
  })

  it('is told newest first over all settings, or of one', async () => {
    const settings = await createWorld().start()
    for (const [key, value] of [
      [INTERVAL, 1000],
      ['cache.ttlMs', 5],
      [INTERVAL, 2000],
    ] as const)
      await set(settings, key, value)
    expect(settings.history().map(({ key, to }) => [key, to])).toEqual([
      [INTERVAL, 2000],
      ['cache.ttlMs', 5],
      [INTERVAL, 1000],
    ])
    expect(settings.history({ key: INTERVAL, limit: 1 }).map(({ to }) => to)).toEqual([2000])
    expect(() => settings.history({ key: 'nothing' })).toThrow('there is no setting')
    await settings.stop()
  })

  it(`is kept for ${CHANGES_KEPT} changes, the oldest go`, async () => {
    const { start, store, clock } = createWorld()
    const settings = await start()
    for (let value = 1; value <= CHANGES_KEPT + 3; value++) await set(settings, 'cache.ttlMs', value)
    await clock.advance(0)
    const kept = settings.history({ limit: 1000 })
    expect(kept).toHaveLength(CHANGES_KEPT)
    expect(kept.at(-1)?.to).toBe(4)
    expect((await store.list({ type: 'SettingChange', limit: 1000 })).items).toHaveLength(CHANGES_KEPT)
    await settings.stop()
  })
})

describe('what came of a change', () => {
  it('is kept with it, once, and does not move the version that locks the next change', async () => {
    const world = createWorld()
    const settings = await world.start()
    const { setting } = await set(settings, INTERVAL, 1000)
    settings.recordEffect(INTERVAL, setting.version, { afterMs: 12, sessions: 200 })
    await world.clock.advance(0)
    settings.recordEffect(INTERVAL, setting.version, { afterMs: 99, sessions: 1 })
    await world.clock.advance(0)
    expect(settings.history()).toMatchObject([{ effect: { afterMs: 12, sessions: 200 }, version: setting.version }])
    expect(settings.get(INTERVAL).version).toBe(setting.version)
    await settings.stop()
    const after = await world.start()
    expect(after.history()).toMatchObject([{ effect: { afterMs: 12, sessions: 200 }, version: setting.version }])
    await after.stop()
  })

  it('is not told of a change that was changed again before', async () => {
    const { start, clock, errors } = createWorld()
    const settings = await start()
    const { setting } = await set(settings, INTERVAL, 1000)
    await set(settings, INTERVAL, 2000)
    settings.recordEffect(INTERVAL, setting.version, { afterMs: 12, sessions: 200 })
    await clock.advance(0)
    expect(settings.history().map(({ effect }) => effect)).toEqual([null, null])
    expect(errors).toEqual([])
    await settings.stop()
  })
})

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable, type MutableTunable } from '../lib/tunable.ts'
import type { DataplaneInsight, Subscription } from '../model/insight.ts'
import { type Resource, type ResourceKey, toKeyString, type Version } from '../model/resource.ts'
import { type TunableKey, tunables } from '../model/tunables.ts'
import type { SettingRow } from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'
import type { ResourceStore, Write, WriteResult } from '../store/resource-store.ts'
import { createConflictLedger } from '../telemetry/conflict-ledger.ts'
import { createDataplaneSink } from './dataplane-sink.ts'
import { LAST_FLUSH_DEADLINE_MS } from './status-sink.ts'
import type { FlushResult } from './sink-statistics.ts'

/** As much of a store as the sink sees: versions, conflicts with who won, owners; and ways to make it slow, lose or fail. */
function createScriptedStore(clock: FakeClock) {
  const resources = new Map<string, Resource>()
  let versions = 0
  const control = {
    hasOwner: true,
    listMs: 0,
    writeMs: 0,
    failWith: undefined as CoreError | undefined,
    /** Runs between a batch's reads and its writes: what another writer does then is a conflict. */
    beforeWrites: () => {},
    batches: [] as { readonly at: number; readonly writes: readonly Write[] }[],
  }
  const put = (resource: Pick<Resource, 'key' | 'spec'>, writer: string) => {
    const id = toKeyString(resource.key)
    const stored: Resource = {
      createdAt: resources.get(id)?.createdAt ?? clock.now(),
      labels: {},
      key: resource.key,
      spec: structuredClone(resource.spec),
      version: `v${++versions}` as Version,
      modifiedAt: clock.now(),
      writer: { name: writer, instance: 'i-1' },
    }
    resources.set(id, stored)
    return stored
  }
  const write = (one: Write, writer: string): WriteResult => {
    if (one.kind === 'delete') throw new Error('not used')
    const target = one.kind === 'create' ? one.draft : one.resource
    const present = resources.get(toKeyString(target.key))
    if (one.kind === 'create') {
      if (!control.hasOwner) return { ok: false, error: new CoreError('owner_missing', 'no owner') }
      return present === undefined
        ? { ok: true, resource: put(target, writer) }
        : { ok: false, error: new CoreError('already_exists', 'exists') }
    }
    if (present === undefined) return { ok: false, error: new CoreError('not_found', 'gone') }
    if (present.version === one.resource.version) return { ok: true, resource: put(target, writer) }
    const lostTo = {
      writer: present.writer.name,
      instance: present.writer.instance,
      version: present.version,
      at: present.modifiedAt,
      certainty: 'exact',
    }
    return { ok: false, error: new CoreError('conflict', 'newer version', { details: { lostTo } }) }
  }
  const store: Pick<ResourceStore, 'list' | 'writeBatch'> = {
    async list(query, options) {
      if (control.listMs > 0) await clock.sleep(control.listMs, options?.signal)
      if (control.failWith !== undefined) throw control.failWith
      const items = (query.keys ?? []).flatMap((key) => resources.get(toKeyString(key)) ?? [])
      return { items: items as never }
    },
    async writeBatch(writes, { writer, signal }) {
      control.batches.push({ at: clock.monotonic(), writes })
      control.beforeWrites()
      if (control.writeMs > 0) await clock.sleep(control.writeMs, signal)
      if (control.failWith !== undefined) throw control.failWith
      return writes.map((one) => write(one, writer))
    },
  }
  return {
    store,
    control,
    get: (key: ResourceKey) => resources.get(toKeyString(key)) as Resource<DataplaneInsight> | undefined,
    /** Another writer changes what is there. */
    meddle(key: ResourceKey, change: (spec: DataplaneInsight) => DataplaneInsight) {
      const present = resources.get(toKeyString(key)) as Resource<DataplaneInsight>
      return put({ key, spec: change(present.spec) }, 'identity')
    },
    remove: (key: ResourceKey) => resources.delete(toKeyString(key)),
  }
}

function createTestSettings() {
  const values = new Map<string, MutableTunable<number | string>>()
  const versions = new Map<string, string>()
  const effects: { key: string; version: string; afterMs: number; sessions: number }[] = []
  for (const [key, spec] of Object.entries(tunables)) values.set(key, createTunable<number | string>(spec.default as number | string))
  // Out of the way of what is not about heartbeats.
  values.get('insight.idleTimeoutMs')?.set(3_600_000)
  const settings = {
    tunable: (key: TunableKey) => values.get(key),
    get: (key: string) => ({ version: versions.get(key) ?? '0', modifiedAt: null }) as SettingRow,
    recordEffect: (key: string, version: string, effect: { afterMs: number; sessions: number }) =>
      effects.push({ key, version, ...effect }),
  } as unknown as Pick<Settings, 'tunable' | 'get' | 'recordEffect'>
  return {
    settings,
    effects,
    set(key: TunableKey, value: number | string, version = `after-${value}`) {
      versions.set(key, version)
      values.get(key)?.set(value)
    },
  }
}

const subjectOf = (name: string): ResourceKey => ({ type: 'Dataplane', mesh: 'default', name })
const insightKey = (name: string): ResourceKey => ({ type: 'DataplaneInsight', mesh: 'default', name })
const silent = { debug() {}, info() {}, warn() {}, error() {} } as never

function begin() {
  const clock = createFakeClock()
  const scripted = createScriptedStore(clock)
  const tuning = createTestSettings()
  const ledger = createConflictLedger({ clock })
  const pending = new Map<string, number | null>()
  const results: FlushResult[] = []
  const lags: number[] = []
  const attempts: [number, string][] = []
  const sink = createDataplaneSink({
    clock,
    store: scripted.store,
    settings: tuning.settings,
    ledger,
    board: { setPending: (key, since) => void pending.set(key.name, since) },
    instance: 'i-1',
    random: () => 0.5,
    log: silent,
    observer: {
      flushed: (result) => results.push(result),
      lag: (seconds) => lags.push(seconds),
      attempts: (count, outcome) => attempts.push([count, outcome]),
    },
  })
  const stopping = new AbortController()
  const done = sink.run(stopping.signal)
  let ids = 0
  return {
    clock,
    scripted,
    tuning,
    ledger,
    pending,
    results,
    lags,
    attempts,
    sink,
    done,
    stop() {
      stopping.abort()
      return done
    },
    open(name: string, id = `${name}-${++ids}`) {
      let newest: Subscription = { id, instance: 'i-1', variant: 'sotw', connectedAt: clock.now(), generation: 0, types: {} }
      const session = sink.open(subjectOf(name), newest)
      return {
        id,
        session,
        /** The peer acknowledges once more. */
        ack(acked: number) {
          newest = { ...newest, types: { CDS: { sent: acked, acked, nacked: 0, lastAt: clock.now() } } }
          session.update(newest)
        },
        same: () => session.update({ ...newest }),
        close: () => session.close({ ...newest, disconnectedAt: clock.now() }),
      }
    },
    stored: (name: string) => scripted.get(insightKey(name))?.spec.subscriptions,
    acked: (name: string) => scripted.get(insightKey(name))?.spec.subscriptions.at(-1)?.types['CDS']?.acked,
  }
}

let run: ReturnType<typeof begin>
let clock: FakeClock

beforeEach(() => {
  run = begin()
  ;({ clock } = run)
})
afterEach(() => end())

async function end() {
  const stopped = run.stop()
  for (let second = 0; second < 6; second++) await clock.advance(1_000)
  await stopped
  expect(clock.pending()).toBe(0)
}

describe('first flush', () => {
  it('is stored at once', async () => {
    run.open('dp')
    expect(run.pending.get('dp')).toBe(clock.now())
    await clock.advance(0)
    expect(run.stored('dp')).toMatchObject([{ id: 'dp-1', generation: 1 }])
    expect(run.pending.get('dp')).toBeNull()
    expect(run.results).toEqual(['written'])
    expect(run.attempts).toEqual([[1, 'created']])
  })

  it('is tried again on a fresh read by the retry policy when it meets a conflict', async () => {
    const first = run.open('dp')
    await clock.advance(0)
    const closing = first.close()
    await clock.advance(60_000)
    await closing
    run.results.length = 0
    let lost = 0
    run.scripted.control.beforeWrites = () => {
      if (lost++ < 2) run.scripted.meddle(insightKey('dp'), (spec) => ({ ...spec, mtls: { ...mtls, certificateRegenerations: lost } }))
    }
    run.open('dp')
    await clock.advance(0)
    expect(run.results).toEqual(['conflict'])
    await clock.advance(200)
    expect(run.results).toEqual(['conflict', 'conflict'])
    await clock.advance(400)
    expect(run.results).toEqual(['conflict', 'conflict', 'written'])
    expect(run.scripted.get(insightKey('dp'))?.spec).toMatchObject({
      mtls: { certificateRegenerations: 2 },
      subscriptions: [{ id: 'dp-1' }, { id: 'dp-2' }],
    })
    expect(run.ledger.matrix()).toEqual([
      { writer: 'dataplane-sink', lostTo: 'identity', type: 'DataplaneInsight', benign: 2, harmful: 0, attempts: 3 },
    ])
  })

  it('of thousands of data planes goes in groups that are small enough for others to get their turn, not one by one', async () => {
    for (let index = 0; index < 2_000; index++) run.open(`dp-${index}`)
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
    expect(run.scripted.control.batches.map(({ writes }) => writes.length)).toEqual(Array<number>(16).fill(125))
    expect(run.results).toHaveLength(2_000)
  })

  it('is dropped quietly and counted when the Dataplane has gone', async () => {
    run.scripted.control.hasOwner = false
    const stream = run.open('dp')
    await clock.advance(1_000)
    expect(run.results).toEqual(['dropped'])
    expect(run.sink.row().flushes).toEqual({ written: 0, unchanged: 0, conflict: 0, error: 0 })
    expect(run.sink.row().lastError).toBeNull()
    await clock.advance(20_000)
    expect(run.results).toEqual(['dropped'])
    const closing = stream.close()
    await clock.advance(0)
    await closing
    expect(run.sink.droppedCount()).toBe(2)
  })
})

describe('periodic flush', () => {
  it('stores a conflicted state at the next tick although nothing changed since, and no sooner', async () => {
    run.tuning.set('sink.dataplane.flushIntervalMs', 1_000)
    const stream = run.open('dp')
    await clock.advance(5_000)
    const changedAt = clock.now()
    let isOtherWriting = true
    run.scripted.control.beforeWrites = () => {
      if (isOtherWriting) run.scripted.meddle(insightKey('dp'), (spec) => ({ ...spec, mtls }))
      isOtherWriting = false
    }
    stream.ack(7)
    await clock.advance(50)
    expect(run.results).toEqual(['written', 'conflict'])
    expect(run.pending.get('dp')).toBe(changedAt)
    await clock.advance(999)
    expect(run.results).toEqual(['written', 'conflict'])
    await clock.advance(1)
    expect(run.results).toEqual(['written', 'conflict', 'written'])
    expect(run.scripted.get(insightKey('dp'))?.spec.mtls).toEqual(mtls)
    expect(run.acked('dp')).toBe(7)
    expect(run.pending.get('dp')).toBeNull()
    expect(run.lags.at(-1)).toBeCloseTo(1.05)
    await clock.advance(20_000)
    expect(run.results).toHaveLength(3)
  })

  it('writes nothing when what is stored says it already', async () => {
    const stream = run.open('dp')
    await clock.advance(20_000)
    const { version } = run.scripted.get(insightKey('dp')) as Resource
    stream.same()
    await clock.advance(10_000)
    expect(run.results).toEqual(['written', 'unchanged'])
    expect(run.scripted.get(insightKey('dp'))?.version).toBe(version)
  })

  it('touches only its own subscription: certificate times and other subscriptions stay', async () => {
    const stream = run.open('dp')
    await clock.advance(20_000)
    const elsewhere: Subscription = { id: 'x', instance: 'i-2', variant: 'delta', connectedAt: 1, generation: 9, types: {} }
    run.scripted.meddle(insightKey('dp'), (spec) => ({ subscriptions: [elsewhere, ...spec.subscriptions], mtls }))
    stream.ack(1)
    await clock.advance(50)
    const { spec } = run.scripted.get(insightKey('dp')) as Resource<DataplaneInsight>
    expect(spec.mtls).toEqual(mtls)
    expect(spec.subscriptions).toMatchObject([elsewhere, { id: stream.id, generation: 2, types: { CDS: { acked: 1 } } }])
  })

  it('keeps what it could not store while the store is away, says why, and stores the newest state when it is back', async () => {
    const stream = run.open('dp')
    await clock.advance(20_000)
    run.scripted.control.failWith = new CoreError('unavailable', 'disk full')
    for (let ack = 1; ack <= 40; ack++) {
      stream.ack(ack)
      await clock.advance(1_000)
    }
    expect(run.results.filter((result) => result === 'error')).toHaveLength(4)
    expect(run.sink.row().lastError).toMatchObject({ message: 'disk full' })
    run.scripted.control.failWith = undefined
    await clock.advance(10_000)
    expect(run.acked('dp')).toBe(40)
    expect(run.sink.row().lastError).toBeNull()
    expect(run.lags.at(-1)).toBeGreaterThan(40)
  })

  it('takes what changed during a flush at the next tick', async () => {
    const stream = run.open('dp')
    await clock.advance(20_000)
    run.scripted.control.writeMs = 300
    stream.ack(1)
    await clock.advance(100)
    stream.ack(2)
    await clock.advance(300)
    expect(run.acked('dp')).toBe(1)
    await clock.advance(10_000)
    expect(run.acked('dp')).toBe(2)
    expect(run.results).toEqual(['written', 'written', 'written'])
  })

  it('gives up a group whose store does not answer, and goes on', async () => {
    const stream = run.open('dp')
    await clock.advance(20_000)
    run.scripted.control.writeMs = 1e9
    stream.ack(1)
    await clock.advance(40_000)
    expect(run.sink.row().lastError?.message).toContain('30000 ms')
    run.scripted.control.writeMs = 0
    await clock.advance(40_000)
    expect(run.acked('dp')).toBe(1)
  })

  it('writes the streams of one data plane together, so that a reconnect does not conflict with its predecessor', async () => {
    const older = run.open('dp')
    await clock.advance(20_000)
    const newer = run.open('dp')
    older.ack(1)
    newer.ack(2)
    const closing = older.close()
    await clock.advance(100)
    await closing
    expect(run.stored('dp')).toMatchObject([
      { id: older.id, disconnectedAt: expect.any(Number) },
      { id: newer.id, types: { CDS: { acked: 2 } } },
    ])
    expect(run.results).not.toContain('conflict')
    expect(run.sink.row().sessions).toBe(1)
  })

  it('keeps the last two subscriptions', async () => {
    for (let reconnect = 0; reconnect < 4; reconnect++) {
      const stream = run.open('dp')
      await clock.advance(1_000)
      const closing = stream.close()
      await clock.advance(100)
      await closing
    }
    expect(run.stored('dp')?.map(({ id }) => id)).toEqual(['dp-3', 'dp-4'])
  })

  it('moves the generation every half idle timeout, although nothing changes', async () => {
    run.tuning.set('insight.idleTimeoutMs', 300_000)
    run.open('dp')
    await clock.advance(0)
    const generations: number[] = []
    for (let period = 0; period < 5; period++) {
      await clock.advance(150_000)
      generations.push(run.stored('dp')?.[0]?.generation ?? 0)
    }
    expect(generations[4]).toBeGreaterThanOrEqual(5)
    expect(new Set(generations.slice(1)).size).toBe(4)
    expect(run.lags).toHaveLength(1)
  })
})

describe('last flush', () => {
  it('stores disconnectedAt although the stream has ended, without waiting for the interval', async () => {
    const stream = run.open('dp')
    await clock.advance(1_000)
    stream.ack(5)
    const closing = stream.close()
    await clock.advance(0)
    await closing
    expect(run.stored('dp')).toMatchObject([{ disconnectedAt: clock.now(), types: { CDS: { acked: 5 } } }])
    expect(run.sink.row().sessions).toBe(0)
    expect(clock.pending()).toBe(0)
  })

  it('is tried again after a conflict and after the store was away', async () => {
    const stream = run.open('dp')
    await clock.advance(1_000)
    run.scripted.control.failWith = new CoreError('unavailable', 'gone')
    const closing = stream.close()
    await clock.advance(300)
    run.scripted.control.failWith = undefined
    await clock.advance(1_000)
    await closing
    expect(run.stored('dp')?.[0]?.disconnectedAt).toBeDefined()
  })

  it('waits for the flush under way', async () => {
    const stream = run.open('dp')
    await clock.advance(20_000)
    run.scripted.control.writeMs = 500
    stream.ack(1)
    await clock.advance(100)
    const closing = stream.close()
    await clock.advance(1_500)
    await closing
    expect(run.stored('dp')?.[0]?.disconnectedAt).toBeDefined()
    expect(run.results).toEqual(['written', 'written', 'written'])
  })

  it('gives up at its deadline, tells the ledger, and never rejects', async () => {
    const stream = run.open('dp')
    await clock.advance(1_000)
    run.scripted.control.beforeWrites = () => void run.scripted.meddle(insightKey('dp'), (spec) => ({ ...spec, mtls }))
    const closing = stream.close()
    await clock.advance(LAST_FLUSH_DEADLINE_MS)
    await closing
    const [cell] = run.ledger.matrix()
    expect(cell).toMatchObject({ lostTo: 'identity', benign: 0 })
    expect(cell?.harmful).toBeGreaterThan(2)
    expect(run.sink.row().sessions).toBe(0)
  })

  it('may be asked for twice, and nothing is taken after it', async () => {
    const stream = run.open('dp')
    await clock.advance(1_000)
    const closings = Promise.all([stream.close(), stream.close()])
    stream.ack(9)
    await clock.advance(0)
    await closings
    expect(run.acked('dp')).toBeUndefined()
    expect(run.results).toEqual(['written', 'written'])
  })
})

describe('stop', () => {
  it('closes every open subscription and leaves nothing behind', async () => {
    for (let index = 0; index < 1_200; index++) run.open(`dp-${index}`)
    for (let turn = 0; turn < 5; turn++) await clock.advance(0)
    const stopped = run.stop()
    for (let turn = 0; turn < 5; turn++) await clock.advance(0)
    await stopped
    for (let index = 0; index < 1_200; index++) expect(run.stored(`dp-${index}`)?.[0]?.disconnectedAt).toBe(clock.now())
    expect(clock.pending()).toBe(0)
    expect(run.sink.row().sessions).toBe(0)
  })

  it('ends within the deadline when the store hangs', async () => {
    run.open('dp')
    await clock.advance(1_000)
    run.scripted.control.writeMs = 1e9
    const stopped = run.stop()
    await clock.advance(LAST_FLUSH_DEADLINE_MS)
    await stopped
    expect(run.sink.row().sessions).toBe(0)
  })

  it('takes no new streams once it has begun', async () => {
    await run.stop()
    const stream = run.open('late')
    stream.ack(1)
    await stream.close()
    expect(run.stored('late')).toBeUndefined()
  })
})

describe('row', () => {
  it('tells interval, backoff, lag, rates and the next flush', async () => {
    const stream = run.open('dp')
    await clock.advance(20_000)
    stream.ack(1)
    await clock.advance(1_000)
    stream.ack(2)
    expect(run.sink.row()).toMatchObject({
      name: 'dataplane',
      intervalMs: 10_000,
      backoffMs: 1_000,
      sessions: 1,
      nextFlushAt: clock.now() + 9_050,
      flushes: { written: 2, unchanged: 0, conflict: 0, error: 0 },
      writesPerSecond: 0.1,
      lagMs: { p99: 50 },
      adopted: { version: '0' },
    })
    expect(run.sink.nextFlushAt(insightKey('dp'))).toBe(clock.now() + 9_050)
    expect(run.sink.nextFlushAt(insightKey('other'))).toBeNull()
    expect(run.sink.row().recentWrites).toHaveLength(60)
    expect(run.sink.row().recentWrites.slice(-2)).toEqual([0, 1])
  })

  it('adopts a new interval when the last waiting session has flushed under it, and records the effect', async () => {
    const stream = run.open('dp')
    run.open('quiet')
    await clock.advance(0)
    stream.ack(1)
    await clock.advance(2_000)
    run.tuning.set('sink.dataplane.flushIntervalMs', 5_000, 'v9')
    expect(run.sink.row()).toMatchObject({ intervalMs: 5_000, backoffMs: 500, adopted: { version: '0' } })
    await clock.advance(3_000)
    expect(run.sink.row().adopted).toEqual({ version: 'v9', at: clock.now() })
    expect(run.tuning.effects).toEqual([{ key: 'sink.dataplane.flushIntervalMs', version: 'v9', afterMs: 3_000, sessions: 2 }])
  })
})

const mtls = {
  certificateExpiresAt: 5,
  certificateRegeneratedAt: 4,
  certificateRegenerations: 1,
  issuedBackend: 'ca',
}

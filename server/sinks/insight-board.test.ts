import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable, deriveTunable, type MutableTunable } from '../lib/tunable.ts'
import { latenessAt } from '../model/freshness.ts'
import type { DataplaneInsight, Subscription } from '../model/insight.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { ObservedInsight } from '../model/observed-insight.ts'
import type { Resource, ResourceKey, Version } from '../model/resource.ts'
import { STRIP_BUCKETS } from '../model/views.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { type ConflictLedger, createConflictLedger } from '../telemetry/conflict-ledger.ts'
import { createInsightBoard, type InsightBoard } from './insight-board.ts'

const INTERVAL = 10_000
const IDLE = 300_000
const sinkWrites = { writer: 'dataplane-sink' }
const keyOf = (name: string, mesh = 'default'): ResourceKey => ({ type: 'DataplaneInsight', mesh, name })
const subscription = (over: Partial<Subscription> = {}): Subscription => ({
  id: 's1',
  instance: 'i',
  variant: 'sotw',
  connectedAt: 1,
  generation: 1,
  types: {},
  ...over,
})
const rejecting: Subscription['types'] = { LDS: { sent: 1, acked: 0, nacked: 1, lastAt: 1, rejection: { reason: 'bad', since: 1 } } }

let clock: FakeClock
let store: ResourceStore
let ledger: ConflictLedger
let board: InsightBoard
let ending: AbortController
let running: Promise<void>
let tunables: { 'sink.dataplane.flushIntervalMs': MutableTunable<number>; 'insight.idleTimeoutMs': MutableTunable<number> }
const changed: string[] = []

beforeEach(async () => {
  clock = createFakeClock()
  const kinds = await loadKinds()
  store = createMemoryStore({ clock, kinds, instance: 'i', maxBacklog: 20 })
  ledger = createConflictLedger({ clock })
  tunables = { 'sink.dataplane.flushIntervalMs': createTunable(INTERVAL), 'insight.idleTimeoutMs': createTunable(IDLE) }
  const heartbeatMs = deriveTunable(tunables['insight.idleTimeoutMs'], (ms) => ms / 2)
  const tempos = new Map([['DataplaneInsight', { intervalMs: tunables['sink.dataplane.flushIntervalMs'], heartbeatMs }]])
  board = createInsightBoard({ store, clock, ledger, tempos })
  changed.length = 0
  for (const mesh of ['default', 'shop']) await store.create({ key: { type: 'Mesh', mesh: '', name: mesh }, spec: {} }, sinkWrites)
})
afterEach(end)

async function end() {
  ending.abort()
  await running
  expect(clock.pending()).toBe(0)
}

async function start() {
  ending = new AbortController()
  board.onChange(({ name }) => changed.push(name), ending.signal)
  running = board.run(ending.signal)
  await board.ready()
}
async function put(name: string, over: Partial<Subscription> = {}, mesh = 'default'): Promise<Resource<DataplaneInsight>> {
  await store.create(
    { key: { type: 'Dataplane', mesh, name }, spec: { networking: { address: 'a', inbound: [], outbound: [] } } },
    sinkWrites,
  )
  return store.create<DataplaneInsight>({ key: keyOf(name, mesh), spec: { subscriptions: [subscription(over)] } }, sinkWrites)
}
const update = (present: Resource<DataplaneInsight>, over: Partial<Subscription>) =>
  store.update<DataplaneInsight>({ ...present, spec: { subscriptions: [subscription(over)] } }, sinkWrites)
const rowOf = (name: string) => board.rows([keyOf(name)])[0]

describe('what was deleted', () => {
  it('leaves nothing of its past behind, whatever it was', async () => {
    await start()
    for (const key of [keyOf('a'), { type: 'Dataplane', mesh: 'default', name: 'a' }])
      ledger.written({ key, writer: 'w', instance: 'i', version: '1', at: 0 })
    await put('a')
    await clock.advance(0)
    expect(ledger.sizes().pasts).toBe(2)
    await store.delete({ type: 'Dataplane', mesh: 'default', name: 'a' }, sinkWrites)
    await clock.advance(0)
    expect(ledger.sizes()).toEqual({ pasts: 0, stories: 0 })
  })
})
const namesIn = (filter: Parameters<InsightBoard['order']>[0]) => board.order(filter).keys.map(({ name }) => name)

describe('the board', () => {
  it('has what was stored before it began and what is stored while it runs, and nothing that was deleted', async () => {
    await put('before')
    await start()
    await put('after')
    await clock.advance(0)
    expect(namesIn({ sort: 'name' })).toEqual(['after', 'before'])
    await store.delete({ type: 'Dataplane', mesh: 'default', name: 'before' }, sinkWrites)
    await clock.advance(0)
    expect(namesIn({})).toEqual(['after'])
    expect(board.rows([keyOf('before'), keyOf('after')])).toHaveLength(1)
    expect(changed).toContain('before')
  })

  it('reads everything again after a gap, and drops what went meanwhile', async () => {
    await put('goes')
    await start()
    await clock.advance(0)
    for (let index = 0; index < 30; index++) void put(`n${index}`)
    await store.delete({ type: 'Dataplane', mesh: 'default', name: 'goes' }, sinkWrites)
    await clock.advance(0)
    expect(board.total()).toBe(30)
    expect(namesIn({})).not.toContain('goes')
  })

  it('judges by the worse of two ages, each by its own cadence, as time goes by', async () => {
    await put('quiet')
    await put('busy')
    await start()
    board.setPending(keyOf('busy'), clock.now())
    expect(rowOf('busy')).toMatchObject({ freshness: 'fresh', pendingMs: 0, cadenceMs: INTERVAL, heartbeatMs: IDLE / 2 })
    await clock.advance(INTERVAL * 1.5)
    expect(rowOf('busy')?.freshness).toBe('fresh')
    await clock.advance(1)
    expect(rowOf('busy')?.freshness).toBe('late')
    await clock.advance(INTERVAL * 1.5)
    expect(rowOf('busy')).toMatchObject({ freshness: 'stale', pendingMs: INTERVAL * 3 + 1 })
    expect(rowOf('quiet')).toMatchObject({ freshness: 'fresh', pendingMs: 0, pendingSince: null })
    await clock.advance((IDLE / 2) * 3)
    expect(rowOf('quiet')?.freshness).toBe('stale')
  })

  it('takes a moved generation for life, and a write that moves none for none', async () => {
    let present = await put('web')
    await start()
    await clock.advance(IDLE)
    present = await update(present, { generation: 2 })
    await clock.advance(0)
    expect(rowOf('web')).toMatchObject({ heartbeatAgeMs: 0, freshness: 'fresh' })
    await clock.advance(IDLE)
    await store.update<DataplaneInsight>(
      {
        ...present,
        spec: {
          ...present.spec,
          mtls: { certificateExpiresAt: 1, certificateRegeneratedAt: 1, certificateRegenerations: 1, issuedBackend: 'b' },
        },
      },
      { writer: 'identity' },
    )
    await clock.advance(0)
    expect(rowOf('web')).toMatchObject({ heartbeatAgeMs: IDLE, freshness: 'late', writer: 'identity' })
  })

  it('keeps ages when the wall clock is set either way, and tells who follows that moments moved', async () => {
    await put('waits')
    await start()
    board.setPending(keyOf('waits'), clock.now())
    await clock.advance(INTERVAL * 2)
    for (const jump of [3_600_000, -3 * 3_600_000]) {
      changed.length = 0
      clock.jump(jump)
      expect(rowOf('waits')).toMatchObject({
        freshness: 'late',
        pendingMs: INTERVAL * 2,
        pendingSince: clock.now() - INTERVAL * 2,
        heartbeatAgeMs: INTERVAL * 2,
      })
      expect(board.summary()['DataplaneInsight']).toMatchObject({ late: 1, stale: 0 })
      expect(changed).toEqual(['waits'])
    }
  })

  it('takes what was written after the wall clock was set back', async () => {
    const first = await put('web')
    await start()
    clock.jump(-3_600_000)
    await update(first, { generation: 2 })
    await clock.advance(INTERVAL)
    expect(rowOf('web')).toMatchObject({ modifiedAt: clock.now() - INTERVAL, heartbeatAgeMs: INTERVAL })
    await store.delete(keyOf('web'), sinkWrites)
    await clock.advance(0)
    expect(board.total()).toBe(0)
  })

  it('says since when a subject is offline, and what a live one refuses', async () => {
    await put('gone', { disconnectedAt: 42, types: rejecting })
    await put('refusing', { types: rejecting })
    await start()
    expect(rowOf('gone')).toMatchObject({ online: false, freshness: 'offline', offlineSince: 42, nacked: [] })
    expect(rowOf('refusing')).toMatchObject({ online: true, nacked: ['LDS'] })
    expect(board.rejecting()).toBe(1)
    expect(namesIn({ rejecting: true })).toEqual(['refusing'])
  })

  it('shows an insight that waits for its first flush as unknown, and forgets it when nothing comes of it', async () => {
    await start()
    board.setPending(keyOf('new'), clock.now())
    expect(rowOf('new')).toMatchObject({ freshness: 'unknown', version: '' })
    board.setPending(keyOf('new'), null)
    expect(board.total()).toBe(0)
  })

  it('is judged by a changed interval at once', async () => {
    await put('web')
    await start()
    board.setPending(keyOf('web'), clock.now())
    await clock.advance(2_000)
    expect(rowOf('web')?.freshness).toBe('fresh')
    tunables['sink.dataplane.flushIntervalMs'].set(1_000)
    expect(rowOf('web')).toMatchObject({ freshness: 'late', cadenceMs: 1_000 })
    expect(changed).toContain('web')
  })

  it('counts conflicts of each insight as the ledger settles them', async () => {
    await put('web')
    await start()
    const lostTo = { writer: 'identity', instance: 'i', version: '9' as Version, at: 1, certainty: 'exact' } as const
    ledger.lost({ key: keyOf('web'), writer: 'dataplane-sink', instance: 'i', lostTo, at: 1 })
    expect(rowOf('web')?.conflicts).toEqual({ benign: 0, harmful: 0 })
    ledger.written({ key: keyOf('web'), writer: 'dataplane-sink', instance: 'i', version: '10', at: 2 })
    expect(rowOf('web')?.conflicts).toEqual({ benign: 1, harmful: 0 })
    expect(changed).toContain('web')
  })

  it('filters by mesh, level and words, and orders by what was asked', async () => {
    await put('checkout-1', {}, 'shop')
    await clock.advance(10)
    await put('checkout-2')
    await clock.advance(10)
    await put('web-1', { disconnectedAt: 5 })
    await start()
    board.setPending(keyOf('checkout-2'), clock.now() - INTERVAL * 2)
    expect(namesIn({ mesh: 'shop' })).toEqual(['checkout-1'])
    expect(namesIn({ q: 'CHECK default' })).toEqual(['checkout-2'])
    expect(namesIn({ freshness: ['late', 'offline'], sort: 'name' })).toEqual(['checkout-2', 'web-1'])
    expect(namesIn({ sort: 'worst' })).toEqual(['checkout-2', 'checkout-1', 'web-1'])
    expect(namesIn({ sort: 'lastWrite' })).toEqual(['web-1', 'checkout-2', 'checkout-1'])
    expect(namesIn({ type: 'ZoneInsight' })).toEqual([])
  })

  it('counts by level and by lateness, the last bucket taking everything above', async () => {
    for (const name of ['a', 'b', 'c']) await put(name)
    await put('d', { disconnectedAt: 5 })
    await start()
    board.setPending(keyOf('b'), clock.now() - INTERVAL)
    board.setPending(keyOf('c'), clock.now() - INTERVAL * 100)
    const [strip] = board.strips()
    expect(board.summary()).toEqual({ DataplaneInsight: { fresh: 2, late: 0, stale: 1, offline: 1, unknown: 0 } })
    expect(strip).toMatchObject({ cadenceMs: INTERVAL, oldestPendingMs: INTERVAL * 100 })
    expect(strip?.buckets.flatMap((count, bucket) => (count === 0 ? [] : [[bucket, count]]))).toEqual([
      [0, 1],
      [15, 1],
      [STRIP_BUCKETS - 1, 1],
    ])
    expect(Object.fromEntries(board.waits())).toEqual({ DataplaneInsight: expect.arrayContaining([0, 10, 1_000]) as number[] })
  })

  it('moves its revision when rows come, go, or go offline, so that a list knows it has something new', async () => {
    await start()
    const seen = [board.revision()]
    const present = await put('web')
    await clock.advance(0)
    seen.push(board.revision())
    await update(present, { generation: 2, disconnectedAt: 1 })
    await clock.advance(0)
    seen.push(board.revision())
    await store.delete({ type: 'Dataplane', mesh: 'default', name: 'web' }, sinkWrites)
    await clock.advance(0)
    seen.push(board.revision())
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
  })

  it('moves its revision of members when rows come or go, and not when one goes offline', async () => {
    await start()
    const before = board.membersRevision()
    const present = await put('web')
    await clock.advance(0)
    const { membersAsOf } = board.order({ sort: 'name' })
    expect(membersAsOf).toBeGreaterThan(before)
    await update(present, { generation: 2, disconnectedAt: 1 })
    await clock.advance(0)
    expect(board.membersRevision()).toBe(membersAsOf)
    await store.delete({ type: 'Dataplane', mesh: 'default', name: 'web' }, sinkWrites)
    await clock.advance(0)
    expect(board.membersRevision()).toBeGreaterThan(membersAsOf)
  })

  it('lists newcomers by name in their place, however often the list was asked for before', async () => {
    await start()
    for (const name of ['m', 'z', 'a', 'n']) {
      await put(name)
      await clock.advance(0)
      board.order({ sort: 'name' })
    }
    expect(namesIn({ sort: 'name' })).toEqual(['a', 'm', 'n', 'z'])
    expect(namesIn({ sort: 'conflicts' })).toEqual(['a', 'm', 'n', 'z'])
  })

  it('is ordered by lateness whatever waits, comes and goes', async () => {
    await start()
    const names = Array.from({ length: 12 }, (_, index) => `n${index}`)
    for (const name of names) await put(name)
    const step = fc.oneof(
      fc.record({ do: fc.constant('pend' as const), name: fc.constantFrom(...names), age: fc.integer({ min: 0, max: 60_000 }) }),
      fc.record({ do: fc.constant('store' as const), name: fc.constantFrom(...names) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 250, max: 30_000 }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        for (const each of steps) {
          if (each.do === 'pend') board.setPending(keyOf(each.name), clock.now() - each.age)
          else if (each.do === 'store') board.setPending(keyOf(each.name), null)
          else await clock.advance(each.ms)
        }
        await clock.advance(250)
        const rows = board.rows(board.order({ sort: 'worst' }).keys)
        expect(rows).toHaveLength(names.length)
        const lateness = rows.map((row) => latenessAt(row, clock.now()))
        expect(lateness).toEqual(lateness.toSorted((a, b) => b - a))
      }),
      { numRuns: 40 },
    )
  })
})

describe('what links see elsewhere', () => {
  const lease = (name: string, over: Partial<ObservedInsight> = {}): ObservedInsight => ({
    key: { type: 'Lease', mesh: '', name: `edge/${name}` },
    subject: { type: 'Lease', mesh: '', name },
    source: 'edge',
    online: true,
    offlineSince: null,
    pendingSince: null,
    heartbeatAt: clock.now(),
    cadenceMs: 10_000,
    heartbeatMs: 10_000,
    version: 'unknown',
    writer: 'kubelet',
    modifiedAt: 0,
    nacked: [],
    ...over,
  })

  it('is listed and judged beside our own insights, each by a cadence of its own', async () => {
    await put('web')
    await start()
    board.set(lease('node-1'))
    board.set(lease('node-2', { cadenceMs: 40_000, heartbeatMs: 40_000 }))
    await clock.advance(30_001)
    expect(board.rows(board.order({ sort: 'worst' }).keys).map(({ key, freshness, source }) => [key.name, freshness, source])).toEqual([
      ['edge/node-1', 'stale', 'edge'],
      ['edge/node-2', 'fresh', 'edge'],
      ['web', 'fresh', null],
    ])
    expect(board.summary()).toMatchObject({ DataplaneInsight: { fresh: 1 }, Lease: { fresh: 1, stale: 1 } })
    expect(board.strips().find(({ type }) => type === 'Lease')).toMatchObject({ cadenceMs: 10_000, cadenceMaxMs: 40_000 })
    expect(board.waits().get('Lease')).toEqual([0, 0])
  })

  it('takes the place of what was seen before, and goes when its link says so', async () => {
    await start()
    board.set(lease('node-1'))
    await clock.advance(30_001)
    board.set(lease('node-1'))
    expect(board.rows([lease('node-1').key])[0]).toMatchObject({ freshness: 'fresh', subject: { name: 'node-1' } })
    board.remove(lease('node-1').key)
    board.remove(lease('node-1').key)
    expect(board.total()).toBe(0)
  })

  it('is judged by what waits alone where it has no heartbeat', async () => {
    await start()
    board.set(lease('slow', { heartbeatMs: 0 }))
    board.set(lease('behind', { heartbeatMs: 0, pendingSince: clock.now() }))
    await clock.advance(1_000_000)
    expect(board.rows([lease('slow').key, lease('behind').key]).map(({ freshness }) => freshness)).toEqual(['fresh', 'stale'])
  })

  it('never removes what is stored here', async () => {
    await put('web')
    await start()
    board.remove(keyOf('web'))
    expect(namesIn({})).toEqual(['web'])
  })
})

describe('an insight without subscriptions', () => {
  it('lives by a generation of its own', async () => {
    await start()
    await store.create(
      { key: { type: 'Dataplane', mesh: 'default', name: 'm' }, spec: { networking: { address: 'a', inbound: [], outbound: [] } } },
      sinkWrites,
    )
    const first = await store.create<unknown>({ key: keyOf('m'), spec: { generation: 1 } }, sinkWrites)
    await clock.advance(IDLE)
    expect(rowOf('m')).toMatchObject({ online: true, freshness: 'late', heartbeatAgeMs: IDLE })
    await store.update<unknown>({ ...first, spec: { generation: 2 } }, sinkWrites)
    await clock.advance(0)
    expect(rowOf('m')).toMatchObject({ online: true, freshness: 'fresh', heartbeatAgeMs: 0 })
  })
})

import type { Clock } from '../lib/clock.ts'
import { createTopic } from '../lib/topic.ts'
import { type Freshness, freshnessAt, freshnessLevels, LATE_ABOVE, STALE_ABOVE } from '../model/freshness.ts'
import type { Kinds } from '../model/kind.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import {
  type FreshnessStrip,
  type InsightFilter,
  type InsightRow,
  type InsightSort,
  type InsightSummary,
  STRIP_BUCKETS,
  STRIP_BUCKETS_PER_CADENCE,
} from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ConflictLedger } from '../telemetry/conflict-ledger.ts'
import { type BoardEntry, type Cadence, createBoardEntry, factsOf, isInsight, takeStored, toRow } from './board-entry.ts'
import { createBoardOrder } from './board-order.ts'

/**
 * The read model: one row per insight, fed by the store's change feed and by the sinks, never by a scan per request. Reads
 * are in memory and cheap; an order of 50,000 rows is a copy of an index, not a sort.
 */
export interface InsightBoard {
  /** Keys in the order asked for; `asOf` is the revision it was taken at. */
  order(filter: InsightFilter): { readonly keys: readonly ResourceKey[]; readonly asOf: number }
  /** Rows of the keys that exist, in the order given. */
  rows(keys: readonly ResourceKey[]): readonly InsightRow[]
  summary(): InsightSummary
  strips(): readonly FreshnessStrip[]
  /** Insights whose peer rejects something now. */
  rejecting(): number
  total(): number
  revision(): number
  /** Called with the key of each row that changed, came or went (rows() then tells which). */
  onChange(listener: (key: ResourceKey) => void, signal: AbortSignal): void

  /** Feeds the change feed into the rows until aborted; first reads everything once. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when the first read is done. */
  ready(): Promise<void>
  /** From the sinks: the oldest change not yet stored of this insight (epoch ms), null when there is none. */
  setPending(key: ResourceKey, since: number | null): void
  /** Seconds each insight has waited to be stored, by type; 0 when it waits for nothing. */
  waits(): ReadonlyMap<string, readonly number[]>
}

export interface InsightBoardDeps {
  readonly store: Pick<ResourceStore, 'changes' | 'list'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly ledger: Pick<ConflictLedger, 'countsOf' | 'onSettled' | 'forget'>
  readonly settings: Pick<Settings, 'tunable'>
  readonly kinds: Kinds
}

/** Counts are taken anew at most this often: who asks meanwhile shares them. */
const COUNTS_KEPT_MS = 200
const PAGE = 1000
/** A wall clock that differs from time passed by more was set; by less, it is being steered. */
const CLOCK_SET_MS = 1000

export function createInsightBoard({ store, clock, ledger, settings, kinds }: InsightBoardDeps): InsightBoard {
  const entries = new Map<KeyString, BoardEntry>()
  const topic = createTopic<ResourceKey>()
  const cadences = new Map<string, Cadence>()
  const orders = createBoardOrder(clock)
  const firstRead = Promise.withResolvers<void>()
  const types = [...kinds.keys()].filter((type) => type.endsWith('Insight'))
  const intervalMs = settings.tunable('sink.dataplane.flushIntervalMs')
  const idleTimeoutMs = settings.tunable('insight.idleTimeoutMs')
  let wallAhead = clock.now() - clock.monotonic()
  let revision = 0
  let kept: Counts | undefined

  return {
    order,
    rows: (keys) => keys.flatMap((key) => rowOf(entries.get(toKeyString(key)))),
    summary: () => Object.fromEntries(counts().strips.map((strip) => [strip.type, strip.counts])),
    strips: () => counts().strips,
    rejecting: () => counts().rejecting,
    total: () => entries.size,
    revision: () => revision,
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    run,
    ready: () => firstRead.promise,
    setPending,
    waits,
  }

  async function run(signal: AbortSignal): Promise<void> {
    ledger.onSettled((key) => {
      const entry = entries.get(toKeyString(key))
      if (entry === undefined) return
      entry.conflicts = ledger.countsOf(key)
      topic.publish(entry.key)
    }, signal)
    for (const tunable of [intervalMs, idleTimeoutMs]) tunable.watch(retune, signal)
    // Subscribed before the read, so that nothing falls between.
    const changes = store.changes(signal)
    await readAll(signal)
    firstRead.resolve()
    for await (const change of changes) {
      if (change.kind === 'resync') await readAll(signal)
      // Seen to move now: the clock of whoever wrote it may be another one.
      else if (change.kind === 'put') put(change.resource, now())
      else if (entries.get(toKeyString(change.key))?.version === change.version) remove(change.key)
    }
  }

  async function readAll(signal: AbortSignal) {
    const seen = new Set<KeyString>()
    for (const type of types) {
      let cursor: string | undefined
      do {
        const page = await store.list({ type, limit: PAGE, ...(cursor !== undefined && { cursor }) }, { signal })
        for (const resource of page.items) {
          seen.add(toKeyString(resource.key))
          put(resource, Math.min(resource.modifiedAt, now()))
        }
        cursor = page.nextCursor
      } while (cursor !== undefined)
    }
    for (const [id, { key, isStored }] of entries) if (isStored && !seen.has(id)) remove(key)
  }

  function put(resource: Resource, movedAt: number) {
    if (!isInsight(resource) || !types.includes(resource.key.type)) return
    const entry = entryOf(resource.key)
    if (entry.version === resource.version) return
    const wasOnline = entry.online
    takeStored(entry, resource, movedAt)
    if (wasOnline !== entry.online) revision++
    topic.publish(entry.key)
  }

  function remove(key: ResourceKey) {
    const id = toKeyString(key)
    const entry = entries.get(id)
    if (entry === undefined) return
    entry.isGone = true
    entries.delete(id)
    ledger.forget(key)
    revision++
    topic.publish(key)
  }

  /**
   * The wall clock, by which moments are told. When it has been set, all moments move with it, so that ages stay what they
   * are: else an hour forward would turn everything stale, and an hour back would hide a dead sink for that long.
   */
  function now(): number {
    const wall = clock.now()
    const setBy = Math.round(wall - clock.monotonic() - wallAhead)
    if (Math.abs(setBy) > CLOCK_SET_MS) {
      wallAhead += setBy
      for (const entry of entries.values()) {
        if (entry.pendingSince !== null) entry.pendingSince += setBy
        if (entry.heartbeatAt !== 0) entry.heartbeatAt += setBy
      }
      tellAll()
    }
    return wall
  }

  function tellAll() {
    revision++
    for (const { key } of entries.values()) topic.publish(key)
  }

  function setPending(key: ResourceKey, since: number | null) {
    now()
    const known = entries.get(toKeyString(key))
    if (known === undefined && since === null) return
    const entry = known ?? entryOf(key)
    if (entry.pendingSince === since) return
    entry.pendingSince = since
    // Nothing is stored and nothing is to be: it was an insight that never came to be.
    if (since === null && !entry.isStored) remove(key)
    else topic.publish(key)
  }

  function entryOf(key: ResourceKey): BoardEntry {
    const id = toKeyString(key)
    const known = entries.get(id)
    if (known !== undefined) return known
    const entry = createBoardEntry(key, cadenceOf(key.type))
    entry.conflicts = ledger.countsOf(key)
    entries.set(id, entry)
    orders.add(entry)
    revision++
    return entry
  }

  function cadenceOf(type: string): Cadence {
    const known = cadences.get(type)
    if (known !== undefined) return known
    const cadence: Cadence = { cadenceMs: intervalMs.get(), heartbeatMs: idleTimeoutMs.get() / 2 }
    cadences.set(type, cadence)
    return cadence
  }

  /** Lateness is judged by what is in force now. */
  function retune() {
    for (const cadence of cadences.values()) {
      cadence.cadenceMs = intervalMs.get()
      cadence.heartbeatMs = idleTimeoutMs.get() / 2
    }
    tellAll()
  }

  function rowOf(entry: BoardEntry | undefined): readonly InsightRow[] {
    return entry === undefined ? [] : [toRow(entry, now())]
  }

  function order({ type, mesh, freshness, rejecting, q, sort = 'worst' }: InsightFilter) {
    const moment = now()
    const words = (q ?? '')
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '')
    const fits = (entry: BoardEntry) =>
      !entry.isGone &&
      (type === undefined || entry.key.type === type) &&
      (mesh === undefined || entry.key.mesh === mesh) &&
      (rejecting !== true || entry.rejected.length > 0) &&
      (freshness === undefined || freshness.includes(freshnessAt(factsOf(entry), moment))) &&
      words.every((word) => entry.searchText.includes(word))
    const keys: ResourceKey[] = []
    for (const entry of orders.by(sort, rankBy(sort, moment))) if (fits(entry)) keys.push(entry.key)
    return { keys, asOf: revision }
  }

  function rankBy(sort: InsightSort, moment: number): (entry: BoardEntry) => number {
    switch (sort) {
      case 'worst':
        // Offline ones are judged by nothing: they come after all that are.
        return (entry) => (entry.online ? latenessOf(entry, moment) : -1)
      case 'name':
        // Equals keep the order they came in, which is by name.
        return () => 0
      case 'lastWrite':
        return ({ modifiedAt }) => modifiedAt
      case 'conflicts':
        return ({ conflicts }) => conflicts.harmful * 1_000_000 + conflicts.benign
    }
  }

  /** One pass over all entries for everything that is counted. */
  function counts(): Counts {
    const moment = now()
    const at = clock.monotonic()
    if (kept !== undefined && at - kept.at < COUNTS_KEPT_MS && kept.revision === revision) return kept
    const strips = new Map(types.map((type) => [type, emptyStrip()]))
    let rejecting = 0
    for (const entry of entries.values()) {
      const strip = strips.get(entry.key.type)!
      if (entry.rejected.length > 0) rejecting++
      if (entry.heartbeatAt === 0) strip.counts.unknown++
      else if (!entry.online) strip.counts.offline++
      else {
        const lateness = latenessOf(entry, moment)
        strip.counts[lateness <= LATE_ABOVE ? 'fresh' : lateness <= STALE_ABOVE ? 'late' : 'stale']++
        const bucket = Math.min(STRIP_BUCKETS - 1, Math.floor(lateness * STRIP_BUCKETS_PER_CADENCE))
        strip.buckets[bucket] = (strip.buckets[bucket] ?? 0) + 1
        if (entry.pendingSince !== null) strip.oldestPendingMs = Math.max(strip.oldestPendingMs, moment - entry.pendingSince)
      }
    }
    kept = {
      at,
      revision,
      rejecting,
      strips: [...strips].map(([type, strip]) => ({ type, cadenceMs: cadenceOf(type).cadenceMs, ...strip })),
    }
    return kept
  }

  function waits() {
    const moment = now()
    const byType = new Map<string, number[]>(types.map((type) => [type, []]))
    for (const entry of entries.values())
      byType.get(entry.key.type)?.push(entry.pendingSince === null ? 0 : Math.max(0, moment - entry.pendingSince) / 1000)
    return byType
  }
}

interface Counts {
  readonly at: number
  readonly revision: number
  readonly rejecting: number
  readonly strips: readonly FreshnessStrip[]
}

/** `latenessAt`, on an entry as it is: asked of every one many times a second. */
function latenessOf({ pendingSince, heartbeatAt, cadence }: BoardEntry, now: number): number {
  const byHeartbeat = Math.max(0, now - heartbeatAt) / Math.max(1, cadence.heartbeatMs)
  return pendingSince === null ? byHeartbeat : Math.max(byHeartbeat, Math.max(0, now - pendingSince) / Math.max(1, cadence.cadenceMs))
}

function emptyStrip() {
  const counts = Object.fromEntries(freshnessLevels.map((level) => [level, 0])) as Record<Freshness, number>
  return { counts, buckets: Array.from({ length: STRIP_BUCKETS }, () => 0), oldestPendingMs: 0 }
}

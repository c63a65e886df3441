import type { Clock } from '../lib/clock.ts'
import type { Tunable } from '../lib/tunable.ts'
import { createTopic } from '../lib/topic.ts'
import { freshnessAt } from '../model/freshness.ts'
import { isFromZone } from '../model/origin.ts'
import type { ObservedInsight, ObservedInsights } from '../model/observed-insight.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import { type FreshnessStrip, type InsightFilter, type InsightRow, type InsightSort, type InsightSummary } from '../model/views.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ConflictLedger } from '../telemetry/conflict-ledger.ts'
import {
  type BoardEntry,
  type Cadence,
  createBoardEntry,
  factsOf,
  latenessOf,
  readPulse,
  takeObserved,
  takeStored,
  toRow,
} from './board-entry.ts'
import { type BoardCounts, countEntries } from './board-counts.ts'
import { createBoardOrder } from './board-order.ts'

/**
 * The read model: one row per insight, fed by the store's change feed, by the sinks and by what links see elsewhere, never by a
 * scan per request. Reads are in memory and cheap; an order of 50,000 rows is a copy of an index, not a sort.
 */
export interface InsightBoard extends ObservedInsights {
  /** Keys in the order asked for, and the revisions it was taken at. */
  order(filter: InsightFilter): { readonly keys: readonly ResourceKey[]; readonly asOf: number; readonly membersAsOf: number }
  /** Rows of the keys that exist, in the order given. */
  rows(keys: readonly ResourceKey[]): readonly InsightRow[]
  summary(): InsightSummary
  strips(): readonly FreshnessStrip[]
  /** Data planes that reject something now. */
  rejecting(): number
  total(): number
  revision(): number
  /** Moves when rows came or went, and only then. */
  membersRevision(): number
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
  /** What a link has seen of it; undefined of our own ones. */
  observed(key: ResourceKey): ObservedInsight | undefined
}

/** What the insights of one type that are stored here are judged by. */
export interface InsightTempo {
  readonly intervalMs: Tunable<number>
  readonly heartbeatMs: Tunable<number>
}

export interface InsightBoardDeps {
  readonly store: Pick<ResourceStore, 'changes' | 'list'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly ledger: Pick<ConflictLedger, 'countsOf' | 'onSettled' | 'forget'>
  /** By type: every type of insight that is stored here. */
  readonly tempos: ReadonlyMap<string, InsightTempo>
}

/** Counts are taken anew at most this often: who asks meanwhile shares them. */
const COUNTS_KEPT_MS = 200
const PAGE = 1000
/** A wall clock that differs from time passed by more was set; by less, it is being steered. */
const CLOCK_SET_MS = 1000

export function createInsightBoard({ store, clock, ledger, tempos }: InsightBoardDeps): InsightBoard {
  const entries = new Map<KeyString, BoardEntry>()
  const topic = createTopic<ResourceKey>()
  const cadences = new Map([...tempos].map(([type, tempo]) => [type, cadenceNow(tempo)]))
  const orders = createBoardOrder(clock)
  const firstRead = Promise.withResolvers<void>()
  let wallAhead = clock.now() - clock.monotonic()
  let revision = 0
  let membersRevision = 0
  let kept: Counts | undefined

  return {
    order,
    rows: (keys) => keys.flatMap((key) => rowOf(entries.get(toKeyString(key)))),
    summary: () => Object.fromEntries(counts().strips.map((strip) => [strip.type, strip.counts])),
    strips: () => counts().strips,
    rejecting: () => counts().rejecting,
    total: () => entries.size,
    revision: () => revision,
    membersRevision: () => membersRevision,
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    run,
    ready: () => firstRead.promise,
    setPending,
    waits,
    set,
    remove: removeObserved,
    observed: (key) => entries.get(toKeyString(key))?.observed,
  }

  async function run(signal: AbortSignal): Promise<void> {
    ledger.onSettled((key) => {
      const entry = entries.get(toKeyString(key))
      if (entry === undefined) return
      entry.conflicts = ledger.countsOf(key)
      topic.publish(entry.key)
    }, signal)
    retune()
    for (const { intervalMs, heartbeatMs } of tempos.values())
      for (const tunable of [intervalMs, heartbeatMs]) tunable.watch(retune, signal)
    // Subscribed before the read, so that nothing falls between.
    const changes = store.changes(signal)
    await readAll(signal)
    firstRead.resolve()
    for await (const change of changes) {
      if (change.kind === 'resync') await readAll(signal)
      // Seen to move now: the clock of whoever wrote it may be another one.
      else if (change.kind === 'put') put(change.resource, now())
      else if (entries.get(toKeyString(change.key))?.version === change.version) remove(change.key)
      // Other writers' resources have a past, too, and it goes with them.
      else if (!cadences.has(change.key.type)) ledger.forget(change.key)
    }
  }

  async function readAll(signal: AbortSignal) {
    const seen = new Set<KeyString>()
    for (const type of tempos.keys()) {
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
    const cadence = cadences.get(resource.key.type)
    const pulse = cadence === undefined ? undefined : readPulse(resource)
    if (cadence === undefined || pulse === undefined) return
    const entry = entryOf(resource.key, isFromZone(resource) ? { ...cadence, heartbeatMs: 0 } : cadence)
    if (entry.version === resource.version) return
    const wasOnline = entry.online
    takeStored(entry, resource, { ...pulse, movedAt })
    if (wasOnline !== entry.online) revision++
    topic.publish(entry.key)
  }

  function set(observed: ObservedInsight) {
    now()
    const entry = entryOf(observed.key, { cadenceMs: observed.cadenceMs, heartbeatMs: observed.heartbeatMs })
    const wasOnline = entry.online
    takeObserved(entry, observed)
    if (wasOnline !== entry.online) revision++
    topic.publish(entry.key)
  }

  function removeObserved(key: ResourceKey) {
    if (entries.get(toKeyString(key))?.observed !== undefined) remove(key)
  }

  function remove(key: ResourceKey) {
    const id = toKeyString(key)
    const entry = entries.get(id)
    if (entry === undefined) return
    entry.isGone = true
    entries.delete(id)
    ledger.forget(key)
    revision++
    membersRevision++
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
    const cadence = cadences.get(key.type)
    if (cadence === undefined || (known === undefined && since === null)) return
    const entry = known ?? entryOf(key, cadence)
    if (entry.pendingSince === since) return
    entry.pendingSince = since
    // Nothing is stored and nothing is to be: it was an insight that never came to be.
    if (since === null && !entry.isStored) remove(key)
    else topic.publish(key)
  }

  function entryOf(key: ResourceKey, cadence: Cadence): BoardEntry {
    const id = toKeyString(key)
    const known = entries.get(id)
    if (known !== undefined) return known
    const entry = createBoardEntry(key, cadence)
    entry.conflicts = ledger.countsOf(key)
    entries.set(id, entry)
    orders.add(entry)
    revision++
    membersRevision++
    return entry
  }

  /** Lateness is judged by what is in force now. */
  function retune() {
    for (const [type, tempo] of tempos) Object.assign(cadences.get(type)!, cadenceNow(tempo))
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
    return { keys, asOf: revision, membersAsOf: membersRevision }
  }

  function rankBy(sort: InsightSort, moment: number): (entry: BoardEntry) => number {
    switch (sort) {
      case 'worst':
        // Offline ones are judged by nothing: they come after all that are.
        return (entry) => (entry.online ? latenessOf(entry, moment) : -1)
      case 'name':
        // Equals are ordered by it.
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
    kept = { at, revision, ...countEntries(entries.values(), cadences, moment) }
    return kept
  }

  function waits() {
    const moment = now()
    const byType = new Map<string, number[]>([...tempos.keys()].map((type) => [type, []]))
    for (const entry of entries.values())
      waitsOf(entry.key.type).push(entry.pendingSince === null ? 0 : Math.max(0, moment - entry.pendingSince) / 1000)
    return byType

    function waitsOf(type: string): number[] {
      const known = byType.get(type)
      if (known !== undefined) return known
      const waits: number[] = []
      byType.set(type, waits)
      return waits
    }
  }
}

interface Counts extends BoardCounts {
  readonly at: number
  readonly revision: number
}

function cadenceNow({ intervalMs, heartbeatMs }: InsightTempo): Cadence {
  return { cadenceMs: intervalMs.get(), heartbeatMs: heartbeatMs.get() }
}

import { type DataplaneInsight, isOnline, rejectedTypes, subjectKeyOf } from '../model/insight.ts'
import { type Freshness, type FreshnessFacts, freshnessAt, heartbeatAgeMsAt, pendingMsAt } from '../model/freshness.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { InsightRow } from '../model/views.ts'

/** Insights of one type, which share a cadence: the facts of it are read anew at each look, for it may be tuned. */
export interface Cadence {
  cadenceMs: number
  heartbeatMs: number
}

/** What the board keeps of one insight: its row but for what time makes of it. Changed in place, by the board alone. */
export interface BoardEntry extends FreshnessFacts {
  readonly key: ResourceKey
  readonly id: KeyString
  /** What a search looks through. */
  readonly searchText: string
  readonly cadence: Cadence
  /** False while all we know is that a stream has something to store. */
  isStored: boolean
  version: string
  writer: string
  modifiedAt: number
  online: boolean
  offlineSince: number | null
  pendingSince: number | null
  heartbeatAt: number
  /** Changes whenever a generation moved. */
  pulse: string
  rejected: readonly string[]
  conflictCount: number
  /** As last judged. */
  level: Freshness
  /** Removed from the board. */
  isGone: boolean
  /** Of the last walk in order of lateness that came by. */
  walk: number
}

export function createBoardEntry(key: ResourceKey, cadence: Cadence): BoardEntry {
  return {
    key,
    id: toKeyString(key),
    searchText: `${key.mesh}/${key.name}`.toLowerCase(),
    cadence,
    get cadenceMs() {
      return this.cadence.cadenceMs
    },
    get heartbeatMs() {
      return this.cadence.heartbeatMs
    },
    isStored: false,
    version: '',
    writer: '',
    modifiedAt: 0,
    online: true,
    offlineSince: null,
    pendingSince: null,
    heartbeatAt: 0,
    pulse: '',
    rejected: [],
    conflictCount: 0,
    level: 'unknown',
    isGone: false,
    walk: 0,
  }
}

/** Whether the board can show it: it has subscriptions. */
export function isInsight(resource: Resource): resource is Resource<DataplaneInsight> {
  const { spec } = resource
  return typeof spec === 'object' && spec !== null && Array.isArray((spec as { subscriptions?: unknown }).subscriptions)
}

/** Takes in what is stored now. When a generation moved is told by the time of the write that moved it. */
export function takeStored(entry: BoardEntry, resource: Resource<DataplaneInsight>): void {
  const { subscriptions } = resource.spec
  const pulse = subscriptions.map(({ id, generation }) => `${id} ${generation}`).join()
  if (pulse !== entry.pulse) {
    entry.pulse = pulse
    entry.heartbeatAt = resource.modifiedAt
  }
  entry.isStored = true
  entry.version = resource.version
  entry.writer = resource.writer.name
  entry.modifiedAt = resource.modifiedAt
  entry.online = isOnline(resource.spec)
  entry.offlineSince = entry.online ? null : Math.max(0, ...subscriptions.map(({ disconnectedAt }) => disconnectedAt ?? 0))
  entry.rejected = entry.online ? rejectedTypes(resource.spec) : []
}

export function toRow(entry: BoardEntry, conflicts: InsightRow['conflicts'], now: number): InsightRow {
  return {
    key: entry.key,
    subject: subjectKeyOf(entry.key),
    online: entry.online,
    freshness: freshnessAt(entry, now),
    pendingMs: pendingMsAt(entry, now),
    heartbeatAgeMs: entry.heartbeatAt === 0 ? 0 : heartbeatAgeMsAt(entry, now),
    pendingSince: entry.pendingSince,
    heartbeatAt: entry.heartbeatAt,
    cadenceMs: entry.cadence.cadenceMs,
    heartbeatMs: entry.cadence.heartbeatMs,
    version: entry.version,
    writer: entry.writer,
    modifiedAt: entry.modifiedAt,
    offlineSince: entry.offlineSince,
    conflicts: { benign: conflicts.benign, harmful: conflicts.harmful },
    nacked: entry.rejected,
  }
}

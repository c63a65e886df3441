import { type DataplaneInsight, isOnline, rejectedTypes, subjectKeyOf } from '../model/insight.ts'
import { type FreshnessFacts, freshnessAt, heartbeatAgeMsAt, pendingMsAt } from '../model/freshness.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { InsightRow } from '../model/views.ts'

/** What insights of one type are judged by. Shared by its entries and changed in place when it is tuned. */
export interface Cadence {
  cadenceMs: number
  heartbeatMs: number
}

/** What the board keeps of one insight: its row but for what time makes of it. Changed in place, by the board alone. */
export interface BoardEntry {
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
  conflicts: InsightRow['conflicts']
  /** Removed from the board. */
  isGone: boolean
  /** By what it was ordered last; the order's own. */
  rank: number
}

const NO_CONFLICTS = { benign: 0, harmful: 0 }

export function createBoardEntry(key: ResourceKey, cadence: Cadence): BoardEntry {
  return {
    key,
    id: toKeyString(key),
    searchText: `${key.mesh}/${key.name}`.toLowerCase(),
    cadence,
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
    conflicts: NO_CONFLICTS,
    isGone: false,
    rank: 0,
  }
}

export function factsOf({ online, pendingSince, heartbeatAt, cadence }: BoardEntry): FreshnessFacts {
  return { online, pendingSince, heartbeatAt, cadenceMs: cadence.cadenceMs, heartbeatMs: cadence.heartbeatMs }
}

/** Whether the board can show it: it has subscriptions. */
export function isInsight(resource: Resource): resource is Resource<DataplaneInsight> {
  const { spec } = resource
  return typeof spec === 'object' && spec !== null && Array.isArray((spec as { subscriptions?: unknown }).subscriptions)
}

/** Takes in what is stored now; a generation that has moved since the last time did so at `movedAt`. */
export function takeStored(entry: BoardEntry, resource: Resource<DataplaneInsight>, movedAt: number): void {
  const { subscriptions } = resource.spec
  const pulse = subscriptions.map(({ id, generation }) => `${id} ${generation}`).join()
  if (pulse !== entry.pulse) {
    entry.pulse = pulse
    entry.heartbeatAt = movedAt
  }
  entry.isStored = true
  entry.version = resource.version
  entry.writer = resource.writer.name
  entry.modifiedAt = resource.modifiedAt
  entry.online = isOnline(resource.spec)
  entry.offlineSince = entry.online ? null : Math.max(0, ...subscriptions.map(({ disconnectedAt }) => disconnectedAt ?? 0))
  entry.rejected = entry.online ? rejectedTypes(resource.spec) : []
}

export function toRow(entry: BoardEntry, now: number): InsightRow {
  const facts = factsOf(entry)
  return {
    key: entry.key,
    subject: subjectKeyOf(entry.key),
    online: entry.online,
    freshness: freshnessAt(facts, now),
    pendingMs: pendingMsAt(facts, now),
    heartbeatAgeMs: entry.heartbeatAt === 0 ? 0 : heartbeatAgeMsAt(facts, now),
    pendingSince: entry.pendingSince,
    heartbeatAt: entry.heartbeatAt,
    cadenceMs: facts.cadenceMs,
    heartbeatMs: facts.heartbeatMs,
    version: entry.version,
    writer: entry.writer,
    modifiedAt: entry.modifiedAt,
    offlineSince: entry.offlineSince,
    conflicts: entry.conflicts,
    nacked: entry.rejected,
  }
}

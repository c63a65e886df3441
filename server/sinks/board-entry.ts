import { type DataplaneInsight, isOnline, rejectedTypes, subjectKeyOf } from '../model/insight.ts'
import { type FreshnessFacts, freshnessAt, heartbeatAgeMsAt, pendingMsAt } from '../model/freshness.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ObservedInsight } from '../model/observed-insight.ts'
import type { InsightRow } from '../model/views.ts'

/** What insights are judged by. Of our own ones shared by all of a type, and changed in place when it is tuned. */
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
  cadence: Cadence
  /** Set for what was seen through a link: it is not in our store. */
  observed: ObservedInsight | undefined
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
    observed: undefined,
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

/** What an insight says of its life: its subscriptions, or a generation of its own where it has none. */
export interface InsightPulse {
  /** Another text means that a generation moved. */
  readonly pulse: string
  readonly online: boolean
  readonly offlineSince: number | null
  readonly rejected: readonly string[]
}

/** Undefined of what the board can't show. */
export function readPulse({ spec }: Resource): InsightPulse | undefined {
  if (typeof spec !== 'object' || spec === null) return undefined
  const { subscriptions, generation } = spec as { readonly subscriptions?: unknown; readonly generation?: unknown }
  if (Array.isArray(subscriptions)) return pulseOfSubscriptions(spec as DataplaneInsight)
  if (typeof generation !== 'number') return undefined
  return { pulse: String(generation), online: true, offlineSince: null, rejected: [] }
}

function pulseOfSubscriptions(insight: Pick<DataplaneInsight, 'subscriptions'>): InsightPulse {
  const { subscriptions } = insight
  const online = isOnline(insight)
  return {
    pulse: subscriptions.map(({ id, generation }) => `${id} ${generation}`).join(),
    online,
    offlineSince: online ? null : Math.max(0, ...subscriptions.map(({ disconnectedAt }) => disconnectedAt ?? 0)),
    rejected: online ? rejectedTypes(insight) : [],
  }
}

/** Takes in what is stored now; a generation that has moved since the last time did so at `movedAt`. */
export function takeStored(entry: BoardEntry, resource: Resource, seen: InsightPulse & { readonly movedAt: number }): void {
  const { pulse, movedAt, ...status } = seen
  if (pulse !== entry.pulse) {
    entry.pulse = pulse
    entry.heartbeatAt = movedAt
  }
  entry.isStored = true
  entry.version = resource.version
  entry.writer = resource.writer.name
  entry.modifiedAt = resource.modifiedAt
  Object.assign(entry, status)
}

const NONE: readonly string[] = []

/** Takes in what was seen through a link. */
export function takeObserved(entry: BoardEntry, observed: ObservedInsight): void {
  const { online, offlineSince, pendingSince, heartbeatAt, version, writer, modifiedAt } = observed
  Object.assign(entry, { observed, online, offlineSince, pendingSince, heartbeatAt, version, writer, modifiedAt })
  entry.rejected = observed.nacked
  entry.cadence = { cadenceMs: observed.cadenceMs, heartbeatMs: observed.heartbeatMs }
}

export function toRow(entry: BoardEntry, now: number): InsightRow {
  const facts = factsOf(entry)
  return {
    key: entry.key,
    subject: entry.observed?.subject ?? subjectKeyOf(entry.key),
    source: entry.observed?.source ?? null,
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
    complaints: entry.observed?.complaints ?? NONE,
    contenders: entry.observed?.contenders ?? NONE,
  }
}

/** `latenessAt`, on an entry as it is: asked of every one many times a second. */
export function latenessOf({ pendingSince, heartbeatAt, cadence }: BoardEntry, now: number): number {
  const byHeartbeat = cadence.heartbeatMs <= 0 ? 0 : Math.max(0, now - heartbeatAt) / cadence.heartbeatMs
  return pendingSince === null ? byHeartbeat : Math.max(byHeartbeat, Math.max(0, now - pendingSince) / Math.max(1, cadence.cadenceMs))
}

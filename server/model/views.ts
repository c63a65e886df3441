/** The shapes that cross to browsers and scripts (additive only; see docs/API.md). Times are epoch ms, spans end in Ms. */
import type { Freshness } from './freshness.ts'
import type { LinkCounts, LinkRow } from './link-row.ts'
import type { Rejection, Subscription } from './insight.ts'
import type { RemoteSetting } from './remote-zone.ts'
import type { LostTo, ResourceKey } from './resource.ts'

export type Key = ResourceKey

export interface InsightRow {
  readonly key: Key
  readonly subject: Key
  /** The link it was seen through; null for our own. */
  readonly source: string | null
  readonly online: boolean
  readonly freshness: Freshness
  /** Age of the oldest change not yet stored, 0 when there is none. */
  readonly pendingMs: number
  /** Since its generation last moved. */
  readonly heartbeatAgeMs: number
  /** The same two as moments: a page judges by these and `now`, for an age is old when it arrives. */
  readonly pendingSince: number | null
  readonly heartbeatAt: number
  readonly cadenceMs: number
  /** 0 = it has no heartbeat. */
  readonly heartbeatMs: number
  readonly version: string
  readonly writer: string
  readonly modifiedAt: number
  /** Epoch ms when it went offline; null while online. */
  readonly offlineSince: number | null
  readonly conflicts: { readonly benign: number; readonly harmful: number }
  /** Short resource types the peer rejects now. */
  readonly nacked: readonly string[]
  /** What its conditions complain of, in whole sentences; of what is watched. */
  readonly complaints: readonly string[]
  /** Who write one part of it in turn, each over the other; of what is watched. */
  readonly contenders: readonly string[]
}

/** One write or lost write of an insight, newest last. */
export interface WriteRecord {
  readonly at: number
  readonly writer: string
  readonly instance: string
  readonly version: string
  readonly outcome: 'written' | 'conflict'
  readonly lostTo?: LostTo
}

export interface InsightDetail {
  readonly row: InsightRow
  readonly subscriptions: readonly Subscription[]
  readonly mtls: {
    readonly certificateExpiresAt: number
    readonly certificateRegeneratedAt: number
    readonly certificateRegenerations: number
  } | null
  readonly writes: readonly WriteRecord[]
  /** When the sink's next attempt for this insight is due (epoch ms), null when none is planned here. */
  readonly nextFlushAt: number | null
  /** Why it is as late as it is, in one sentence; null when it is fresh and quiet. */
  readonly why: string | null
  /** What its source says besides; null when nothing. */
  readonly note: string | null
  /** What it says where it is not about streams (a mesh, an instance); null where its subscriptions are all. */
  readonly content: Readonly<Record<string, unknown>> | null
  /** Of what is seen through a link: intervals over there that decide how late it is, and where they are set; empty for our own. */
  readonly settings: readonly RemoteSetting[]
}

export type InsightSort = 'worst' | 'name' | 'lastWrite' | 'conflicts'
export interface InsightFilter {
  readonly type?: string | undefined
  readonly mesh?: string | undefined
  readonly freshness?: readonly Freshness[] | undefined
  /** Only insights whose peer rejects something now. */
  readonly rejecting?: boolean | undefined
  /** Words that must all appear in `mesh/name`, without regard to case. */
  readonly q?: string | undefined
  readonly sort?: InsightSort | undefined
}

/** `insights.summary`: per type, how many insights are at each level. */
export type InsightSummary = Readonly<Record<string, Readonly<Record<Freshness, number>>>>

/** One strip of the Overview: insights of a type by lateness. */
export interface FreshnessStrip {
  readonly type: string
  /** The shortest cadence that one of them is judged by. */
  readonly cadenceMs: number
  /** The longest. */
  readonly cadenceMaxMs: number
  readonly counts: Readonly<Record<Freshness, number>>
  /** Online insights by lateness; bucket i holds lateness [i, i+1) / 15, the last one everything above: 60 buckets reach 4. */
  readonly buckets: readonly number[]
  /** Age of the oldest change not yet stored, 0 when there is none. */
  readonly oldestPendingMs: number
}
export const STRIP_BUCKETS = 60
export const STRIP_BUCKETS_PER_CADENCE = 15

export interface SinkRow {
  readonly name: string
  readonly intervalMs: number
  readonly backoffMs: number
  readonly sessions: number
  /** Epoch ms of the next group that is due; null when nothing is. */
  readonly nextFlushAt: number | null
  readonly flushes: { readonly written: number; readonly unchanged: number; readonly conflict: number; readonly error: number }
  readonly writesPerSecond: number
  /** Over the last minute. */
  readonly lagMs: { readonly p50: number; readonly p99: number }
  /** The setting in force for all sessions, and since when. While a change is under way: the one before it. */
  readonly adopted: { readonly version: string; readonly at: number }
  /** Flushes per second by result over the last 10 s. */
  readonly perSecond: { readonly written: number; readonly unchanged: number; readonly conflict: number; readonly error: number }
  /** Writes in each of the last 60 whole seconds, oldest first. */
  readonly recentWrites: readonly number[]
  /** The last error of a flush, null when none or when a later flush worked. */
  readonly lastError: { readonly message: string; readonly at: number } | null
}

export type SettingValue = number | string | boolean
export interface SettingRow {
  readonly key: string
  readonly value: SettingValue
  readonly default: SettingValue
  readonly unit: 'ms' | 'count' | 'percent' | 'none'
  readonly range: { readonly min: number; readonly max: number } | null
  /** "0" while nobody changed it. */
  readonly version: string
  readonly description: string
  readonly modifiedAt: number | null
  readonly modifiedBy: string | null
}

/** One edit of a tunable. */
export interface ChangeRow {
  readonly changeId: string
  readonly key: string
  readonly at: number
  readonly by: string
  readonly from: SettingValue
  readonly to: SettingValue
  readonly reason: string | null
  readonly version: string
  /** What came of it, when known: in force for all sessions after this many ms. */
  readonly effect: { readonly afterMs: number; readonly sessions: number } | null
}

export interface SessionTypeRow {
  readonly type: string
  readonly sent: number
  readonly acked: number
  readonly nacked: number
  readonly status: 'synced' | 'pending' | 'rejected'
  readonly error: string | null
  /** Epoch ms of the last response sent or answered. */
  readonly lastAt: number
  /** What the peer refuses now. */
  readonly rejection: Rejection | null
  /** The last rejection that a later ACK ended. */
  readonly recovered: (Rejection & { readonly until: number }) | null
}
export interface SessionRow {
  readonly id: string
  readonly protocol: 'xds' | 'kds'
  readonly variant: 'sotw' | 'delta'
  readonly subject: Key
  readonly nodeId: string
  readonly peer: string
  readonly connectedAt: number
  /** What the peer says it is; null when it does not. */
  readonly agent: string | null
  /** Between control planes: `down` from the global to a zone, `up` from a zone to the global. Null of data planes. */
  readonly direction: 'down' | 'up' | null
  /** Epoch ms when what was refused is sent again unchanged; null when nothing waits. */
  readonly retryAt: number | null
  /** Between control planes: what the receiver does not take, resource by resource. */
  readonly refused: readonly RefusedRow[]
  readonly types: readonly SessionTypeRow[]
}

/** One resource that the receiving control plane does not take. */
export interface RefusedRow {
  readonly type: string
  /** `<name>.<mesh>`, as it crosses. */
  readonly name: string
  readonly reason: string
  /** Epoch ms. */
  readonly since: number
  readonly times: number
  /** 1 = this one for sure; n = one of n that were in one refused answer. */
  readonly oneOf: number
  /** `refused`: sent again with growing waits. `poison`: it ended the connection each time; held back until it changes or is sent again by hand. */
  readonly kind: 'refused' | 'poison'
}

export interface ConflictCell {
  readonly writer: string
  readonly lostTo: string
  readonly type: string
  readonly benign: number
  readonly harmful: number
  /** Attempts the settled stories took in all: 2 per story when one retry was enough. */
  readonly attempts: number
}

/** Conflicts settled in one bucket of time. */
export interface ConflictPoint {
  readonly at: number
  readonly benign: number
  readonly harmful: number
}

export interface InstanceSelf {
  readonly id: string
  readonly pid: number
  readonly startedAt: number
  readonly url: string
  readonly xds: string
  readonly kds: string | null
  readonly version: string
  readonly store: string
  readonly mode: 'standalone' | 'global' | 'zone'
  readonly demo: boolean
  readonly now: number
}

/** Something the demo can break on purpose, in its own process, over the real protocols. */
export interface DemoFault {
  readonly name: string
  /** As a switch is labelled. */
  readonly label: string
  readonly description: string
  readonly active: boolean
}

/** What every page shows, whatever it is about; the `glance` of the live feed. */
export interface CountersGlance {
  readonly summary: InsightSummary
  readonly sinks: readonly Pick<SinkRow, 'name' | 'lastError'>[]
  /** Control planes that are connected to this one (of a zone: it itself): how many, and of these which wait for an answer or reject something. */
  readonly zones: { readonly online: number; readonly syncing: number; readonly rejecting: number }
  readonly links: LinkCounts
  /** Data planes that reject something now. */
  readonly rejecting: number
  readonly eventLoopLagMs: { readonly p50: number; readonly p99: number }
  /** Null while the store answers. */
  readonly storeProblem: { readonly message: string; readonly since: number } | null
  /** Null while writes are stored at once, else how long that takes now. */
  readonly storeSlow: { readonly commitMs: number; readonly since: number } | null
  /** Pages and scripts that follow live and do not keep up: now, and those hung up on in the last minute. */
  readonly readers: { readonly stalled: number; readonly dropped: number }
  /** What interrupted the whole process in the last minute: it did not run, something in it computed, or the wall clock was moved by `ms`. */
  readonly interruption: { readonly kind: 'stopped' | 'blocked' | 'clock_set'; readonly endedAt: number; readonly ms: number } | null
  readonly insightsTotal: number
  /** Moves when rows came, went or changed order group, so that a list knows it has something new. */
  readonly insightsRevision: number
  /** Moves when rows came or went: all that moves a list by name. */
  readonly insightsMembersRevision: number
}

/** All that is counted; the `counters` of the live feed. */
export interface Counters extends CountersGlance {
  readonly strips: readonly FreshnessStrip[]
  readonly sinks: readonly SinkRow[]
  readonly conflicts: { readonly cells: readonly ConflictCell[]; readonly recent: readonly ConflictPoint[] }
  readonly sessions: { readonly xds: number; readonly kds: number }
}

/**
 * Frames of the live feed. A key is `counters` (value: Counters) or `glance` (value: CountersGlance), an insight's `Key` (value: InsightRow) or `{ link }`
 * (value: LinkRow). Each subscription starts with a snapshot of its scope, so resuming needs no log of past deltas.
 */
export type LiveFrame =
  | {
      readonly kind: 'snapshot'
      readonly now: number
      readonly counters?: Counters
      readonly glance?: CountersGlance
      readonly insights?: readonly InsightRow[]
      readonly links?: readonly LinkRow[]
    }
  | { readonly kind: 'upsert'; readonly now: number; readonly key: 'counters'; readonly value: Counters }
  | { readonly kind: 'upsert'; readonly now: number; readonly key: 'glance'; readonly value: CountersGlance }
  | { readonly kind: 'upsert'; readonly now: number; readonly key: Key; readonly value: InsightRow }
  | { readonly kind: 'upsert'; readonly now: number; readonly key: LinkKey; readonly value: LinkRow }
  | { readonly kind: 'remove'; readonly now: number; readonly key: Key }
  | { readonly kind: 'remove'; readonly now: number; readonly key: LinkKey }
  | { readonly kind: 'tick'; readonly now: number }

/** A link in the live feed. */
export interface LinkKey {
  readonly link: string
}

/** Links as they cross to browsers and scripts (additive only; see docs/API.md). Times are epoch ms, spans end in Ms. Pure data. */

export const linkKinds = ['watch', 'kds', 'listen', 'poll'] as const
export type LinkKind = (typeof linkKinds)[number]

/**
 * Why an attempt ended. All are retried; the first three need somebody to act, so they degrade a link at once:
 * - `unauthorized`  401, or a certificate that does not hold
 * - `forbidden`     403
 * - `not_found`     404: a kind, an API version, a namespace is missing
 * - `gone`          410: what we asked to resume from is no longer kept
 * - `throttled`     429
 * - `server`        5xx
 * - `network`       no connection, or it broke
 * - `protocol`      an answer that cannot be read
 * - `closed_early`  a clean end so soon that it counts as a failure
 * - `idle`          nothing came for longer than the peer may be silent
 */
export const linkErrorClasses = [
  'unauthorized',
  'forbidden',
  'not_found',
  'gone',
  'throttled',
  'server',
  'network',
  'protocol',
  'closed_early',
  'idle',
] as const
export type LinkErrorClass = (typeof linkErrorClasses)[number]

export const linkStateKinds = ['idle', 'connecting', 'syncing', 'live', 'waiting', 'paused', 'stopped'] as const
export type LinkStateKind = (typeof linkStateKinds)[number]

/** `degraded`: somebody must act. `unhealthy`: without success for longer than `link.unhealthyAfterMs`. */
export const linkHealths = ['healthy', 'degraded', 'unhealthy', 'paused'] as const
export type LinkHealth = (typeof linkHealths)[number]

/** What a stretch of the swim-lane shows: the state (a first connecting as `syncing`, a later one as `waiting`), or `degraded` while somebody has to act. */
export type LinkLane = 'syncing' | 'live' | 'waiting' | 'degraded' | 'paused'

export interface LinkLastError {
  readonly class: LinkErrorClass
  readonly message: string
  /** What an operator can do about it; may hold lines to paste. */
  readonly hint: string
  readonly at: number
  /** The first of this class in a row. */
  readonly since: number
}

/** A value of the policy in force, and whether it was set for this link alone (`link.<id>.<name>`). */
export interface LinkPolicyValue<T> {
  readonly value: T
  readonly overridden: boolean
}
export interface LinkPolicyRow {
  readonly baseBackoffMs: LinkPolicyValue<number>
  readonly factor: LinkPolicyValue<number>
  readonly maxBackoffMs: LinkPolicyValue<number>
  readonly jitter: LinkPolicyValue<boolean>
  readonly resetAfterMs: LinkPolicyValue<number>
  readonly unhealthyAfterMs: LinkPolicyValue<number>
}

export interface LinkRow {
  readonly id: string
  readonly kind: LinkKind
  /** Scheme, host and port, as in `https://10.0.0.1:6443`. */
  readonly endpoint: string
  /** What it follows, in one line: `v1 Pod · namespace shop · label app=web · context edge`. */
  readonly subject: string
  readonly health: LinkHealth
  readonly healthSince: number
  /**
   * `attempt` of `waiting`, `connecting` and `syncing`: which try this is since the last reset; absent at the first. `until`: when
   * the next try is due, absent while it waits for the probe of another. `cause`: the class of the failure it waits after.
   */
  readonly state: { readonly kind: LinkStateKind; readonly attempt?: number; readonly until?: number; readonly cause?: LinkErrorClass }
  readonly stateSince: number
  /** Its tries are the probes of its endpoint, which is down. */
  readonly probing: boolean
  /** Its endpoint is down and another link probes it; null otherwise. */
  readonly waitingFor: { readonly endpoint: string; readonly prober: string | null; readonly probeAt: number | null } | null
  readonly pausedBy: string | null
  readonly pauseReason: string | null
  /** The last one, over or not: it is over when `withoutSuccessSince` is null. */
  readonly lastError: LinkLastError | null
  /** Since when it has not been live; null while it is, and before it was started. */
  readonly withoutSuccessSince: number | null
  readonly lastEventAt: number | null
  readonly lastBookmarkAt: number | null
  /** Over the last 10 s. */
  readonly eventsPerSecond: number
  /** From the change over there to us, over the last minute; null when nothing says. */
  readonly eventLagMs: { readonly p50: number; readonly p99: number } | null
  /** Objects it keeps a copy of; null when it keeps none. */
  readonly objects: number | null
  /** Lines and objects that could not be read, and the last of them by name. */
  readonly bad: { readonly count: number; readonly last: { readonly what: string; readonly at: number } | null }
  /** Whole re-reads by reason. */
  readonly relists: Readonly<Record<string, number>>
  /** Answers by status code or error word. */
  readonly requests: Readonly<Record<string, number>>
  /** Times it had to connect again, by cause. */
  readonly reconnects: Readonly<Record<string, number>>
  readonly policy: LinkPolicyRow
  /** The last hour, oldest first; each lasts until the next begins. Bounded: what was too short to be drawn is left out. */
  readonly history: readonly LinkStretch[]
}
export interface LinkStretch {
  readonly at: number
  readonly lane: LinkLane
}

/** `links.get`. */
export interface LinkDetail extends LinkRow {
  /** Its last changes of state, newest last, bounded. */
  readonly log: readonly LinkLogEntry[]
  /** The waits of the policy in force, by attempt, until they no longer grow; without jitter. */
  readonly waitsMs: readonly number[]
  /** The wait it is in, jitter included; null when it is in none. */
  readonly waitMs: number | null
  /** Lines and objects that could not be read, newest last, bounded. */
  readonly badOnes: readonly { readonly what: string; readonly at: number }[]
  /** Requests by verb (list, watch, connect, ...) and code. */
  readonly requestsByVerb: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** What its peer says of itself, in groups; empty where it says nothing. */
  readonly facts: readonly LinkFactGroup[]
}
export interface LinkFactGroup {
  readonly title: string
  readonly facts: readonly { readonly label: string; readonly value: string }[]
}
export interface LinkLogEntry {
  readonly at: number
  readonly text: string
}

/** The links part of the counters. */
export interface LinkCounts {
  readonly total: number
  readonly byState: Readonly<Record<LinkStateKind, number>>
  readonly byHealth: Readonly<Record<LinkHealth, number>>
  /** Degraded before unhealthy, then the longest without success; null while all are healthy or paused. */
  readonly worst: {
    readonly id: string
    readonly health: LinkHealth
    readonly withoutSuccessSince: number
    readonly lastError: LinkLastError | null
  } | null
}

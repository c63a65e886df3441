/**
 * How late an insight is. The source of the rule: status that is not changed is not written, so an old write alone means
 * either "quiet" or "dead sink". So two ages are judged, each by its own cadence, and the worse one counts:
 *
 *   pending   = age of the oldest change not yet stored  /  the sink's interval
 *   heartbeat = time since the generation last moved     /  the heartbeat (where it has one)
 *
 *   fresh <= 1.5 < late <= 3 < stale; offline when the subject is disconnected; unknown before the first flush.
 */
export const freshnessLevels = ['fresh', 'late', 'stale', 'offline', 'unknown'] as const
export type Freshness = (typeof freshnessLevels)[number]

export const LATE_ABOVE = 1.5
export const STALE_ABOVE = 3

export interface FreshnessFacts {
  /** Whether the subject is connected. */
  readonly online: boolean
  /** Epoch ms of the oldest change not yet stored; null when there is none. */
  readonly pendingSince: number | null
  /** Epoch ms when the generation last moved; 0 before the first flush. */
  readonly heartbeatAt: number
  readonly cadenceMs: number
  /** 0 = it has no heartbeat: what waits is judged alone. */
  readonly heartbeatMs: number
}

export function freshnessAt(facts: FreshnessFacts, now: number): Freshness {
  if (facts.heartbeatAt === 0) return 'unknown'
  if (!facts.online) return 'offline'
  const lateness = latenessAt(facts, now)
  if (lateness <= LATE_ABOVE) return 'fresh'
  return lateness <= STALE_ABOVE ? 'late' : 'stale'
}

/** The worse of the two ages, each in units of its cadence. 0 = just stored. */
export function latenessAt(facts: FreshnessFacts, now: number): number {
  const byHeartbeat = facts.heartbeatMs <= 0 ? 0 : heartbeatAgeMsAt(facts, now) / facts.heartbeatMs
  return Math.max(pendingMsAt(facts, now) / Math.max(1, facts.cadenceMs), byHeartbeat)
}

/** Age of the oldest change not yet stored, 0 when there is none. */
export function pendingMsAt(facts: Pick<FreshnessFacts, 'pendingSince'>, now: number): number {
  return facts.pendingSince === null ? 0 : Math.max(0, now - facts.pendingSince)
}

export function heartbeatAgeMsAt(facts: Pick<FreshnessFacts, 'heartbeatAt'>, now: number): number {
  return Math.max(0, now - facts.heartbeatAt)
}

import { LATE_ABOVE, STALE_ABOVE, type FreshnessFacts, heartbeatAgeMsAt, latenessAt, pendingMsAt } from '../../server/model/freshness.ts'

/** The bar's right end, in cadences: room for the stale line and some way past it. */
const FULL_SCALE = 4

/** Where the two tide lines stand, as percent of the bar. */
export const tideLines = [LATE_ABOVE, STALE_ABOVE].map((lateness) => (100 * lateness) / FULL_SCALE)

export interface TideMark {
  /** 0..100. A row that waits at all shows at least a sliver; past the scale the bar is full. */
  readonly percent: number
  /** In cadences, unclipped. */
  readonly lateness: number
  /** Which of the two ages made it: a change that waits, or a heartbeat that is overdue. */
  readonly by: 'pending' | 'heartbeat'
  /** That age. */
  readonly ageMs: number
  /** What it is judged by. */
  readonly cadenceMs: number
}

/** How far the tide has come in on a connected insight. A quiet one is judged by its heartbeat, and its bar creeps with it. */
export function tideMarkAt(facts: FreshnessFacts, now: number): TideMark {
  const pendingMs = pendingMsAt(facts, now)
  const heartbeatAgeMs = heartbeatAgeMsAt(facts, now)
  const lateness = latenessAt(facts, now)
  const heartbeats = facts.heartbeatMs <= 0 ? 0 : heartbeatAgeMs / facts.heartbeatMs
  const byPending = pendingMs / Math.max(1, facts.cadenceMs) >= heartbeats && pendingMs > 0
  return {
    percent: lateness === 0 ? 0 : Math.min(100, Math.max(2, (100 * lateness) / FULL_SCALE)),
    lateness,
    by: byPending ? 'pending' : 'heartbeat',
    ageMs: byPending ? pendingMs : heartbeatAgeMs,
    cadenceMs: byPending ? facts.cadenceMs : facts.heartbeatMs,
  }
}

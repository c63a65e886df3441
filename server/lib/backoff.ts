import { MAX_TIMER_MS } from './clock.ts'

/** Exponential, capped, jittered waits. All times in milliseconds. */
export interface BackoffPolicy {
  /** The wait before the first retry. 0 or less: no wait at all. */
  readonly baseMs: number
  /** No wait is longer; at most 2^31-1 (a longer timer would fire at once). */
  readonly maxMs: number
  /** What each further wait is multiplied by; at least 1. */
  readonly factor: number
  /** Each wait is spread evenly over +-this percent, 0 (exact) to 100. */
  readonly jitterPercent: number
}

/**
 * The wait before retry number `attempt` (1 = the first retry). Always finite, >= 0 and <= maxMs, for any attempt and any
 * policy. `random` is in [0, 1).
 */
export function backoffDelayMs(policy: BackoffPolicy, attempt: number, random: () => number): number {
  const maxMs = Math.min(Math.max(0, policy.maxMs), MAX_TIMER_MS)
  const baseMs = Math.max(0, policy.baseMs)
  if (baseMs === 0) return 0
  // 1 ** Infinity is NaN.
  const steps = Math.min(Math.max(0, attempt - 1), Number.MAX_SAFE_INTEGER)
  const plainMs = Math.min(baseMs * Math.max(1, policy.factor) ** steps, maxMs)
  const jitter = Math.min(Math.max(0, policy.jitterPercent), 100) / 100
  const spread = jitter === 0 ? 1 : 1 + jitter * (2 * random() - 1)
  return Math.min(Math.max(0, plainMs * spread), maxMs)
}

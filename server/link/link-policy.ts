import { type BackoffPolicy, backoffDelayMs } from '../lib/backoff.ts'

/** How a link waits. Any policy will do; `exponentialPolicy` makes the usual one. Times in ms. */
export interface LinkPolicy {
  /** The wait before retry number `attempt` (1 = the first). `roll` in [0, 1) spreads it; 0.5 gives the plain wait. */
  delayMs(attempt: number, roll: number): number
  /** After being live for so long, the next failure counts as the first again. */
  readonly resetAfterMs: number
  /** Without success for so long, a link is unhealthy. */
  readonly unhealthyAfterMs: number
}

export interface LinkPolicyValues {
  readonly baseBackoffMs: number
  readonly factor: number
  readonly maxBackoffMs: number
  /** Whether waits are spread, so that links which failed together do not stay in step. */
  readonly jitter: boolean
  readonly resetAfterMs: number
  readonly unhealthyAfterMs: number
}

const JITTER_PERCENT = 20

/** Exponential and capped; with jitter each wait is spread over +-20 %, and at the cap folded below it, so that even there links drift apart. */
export function exponentialPolicy(values: LinkPolicyValues): LinkPolicy {
  const { baseBackoffMs, factor, maxBackoffMs, jitter, resetAfterMs, unhealthyAfterMs } = values
  const plain: BackoffPolicy = { baseMs: baseBackoffMs, factor, maxMs: maxBackoffMs, jitterPercent: 0 }
  return {
    delayMs(attempt, roll) {
      const plainMs = backoffDelayMs(plain, attempt, () => 0.5)
      if (!jitter) return plainMs
      const spreadMs = plainMs * (1 + (JITTER_PERCENT / 100) * (2 * roll - 1))
      return spreadMs > maxBackoffMs ? 2 * maxBackoffMs - spreadMs : spreadMs
    },
    resetAfterMs,
    unhealthyAfterMs,
  }
}

const MAX_WAITS = 12

/** The plain waits by attempt until they no longer grow: for drawing them. */
export function waitsOf(policy: LinkPolicy): readonly number[] {
  const waits: number[] = []
  for (let attempt = 1; attempt <= MAX_WAITS; attempt++) {
    const waitMs = policy.delayMs(attempt, 0.5)
    if (waits.length > 0 && waitMs <= waits.at(-1)!) break
    waits.push(waitMs)
  }
  return waits
}

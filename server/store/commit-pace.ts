import type { Clock } from '../lib/clock.ts'

/** Whether commits take so long that operators should know: a disk that is slow, or one that hangs. */
export interface CommitPace {
  begun(): void
  /** `tookMs` as the writing thread measured it: what the event loop is late by is not the disk's. */
  ended(tookMs: number): void
  /** It failed: of the disk's pace that tells nothing. */
  failed(): void
  /** Null while commits are quick. `since` is epoch ms. */
  slow(): SlowCommits | null
}

export interface SlowCommits {
  /** How long one takes now. */
  readonly commitMs: number
  readonly since: number
}

/** A disk that works takes a tenth of it. */
const SLOW_MS = 200
/** So many in a row make a state of it, or end it: one slow commit is a checkpoint. */
const IN_A_ROW = 3
/** One under way for so long is a disk that hangs. */
const HANGS_MS = 2_000
/** Without commits nothing is known of the disk after this long. */
const KNOWN_FOR_MS = 30_000

export function createCommitPace(clock: Pick<Clock, 'now' | 'monotonic'>): CommitPace {
  let begunAt: number | undefined
  let endedAt = Number.NEGATIVE_INFINITY
  let slowInARow = 0
  let quickInARow = 0
  let slow: SlowCommits | null = null

  return {
    begun() {
      begunAt = clock.monotonic()
    },
    ended(tookMs) {
      begunAt = undefined
      endedAt = clock.monotonic()
      const isSlow = tookMs >= SLOW_MS
      slowInARow = isSlow ? slowInARow + 1 : 0
      quickInARow = isSlow ? 0 : quickInARow + 1
      if (isSlow && (slow !== null || slowInARow >= IN_A_ROW)) slow = { commitMs: Math.round(tookMs), since: slow?.since ?? clock.now() }
      else if (quickInARow >= IN_A_ROW) slow = null
    },
    failed() {
      begunAt = undefined
    },
    slow() {
      const now = clock.monotonic()
      const underWayMs = begunAt === undefined ? 0 : now - begunAt
      if (underWayMs >= HANGS_MS) return { commitMs: Math.round(underWayMs), since: slow?.since ?? Math.round(clock.now() - underWayMs) }
      return begunAt === undefined && now - endedAt > KNOWN_FOR_MS ? null : slow
    },
  }
}

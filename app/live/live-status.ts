/**
 * How current a page is.
 *
 *   connecting -- first frame --> live -- 5 s without a frame --> stale -- a frame --> live
 *                                  \___ connection lost ___> reconnecting -- a frame --> live
 *
 * Judged by frames that arrived, on the browser's monotonic clock: not by what a socket believes of itself.
 */
export type LiveStatus =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live'; readonly ageMs: number }
  | { readonly kind: 'stale'; readonly ageMs: number }
  | { readonly kind: 'reconnecting'; readonly ageMs: number; readonly isStale: boolean }

export interface LiveFacts {
  /** Monotonic ms of the last frame; undefined before the first. */
  readonly lastFrameAt: number | undefined
  /** Whether the connection is known to be lost since. */
  readonly isLost: boolean
}

/** The server sends something at least every 1.5 s: three of those missed, and a little more. */
export const STALE_AFTER_MS = 5_000

export function liveStatusAt({ lastFrameAt, isLost }: LiveFacts, monotonicNow: number): LiveStatus {
  if (lastFrameAt === undefined) return { kind: 'connecting' }
  const ageMs = Math.max(0, monotonicNow - lastFrameAt)
  if (isLost) return { kind: 'reconnecting', ageMs, isStale: ageMs >= STALE_AFTER_MS }
  return { kind: ageMs >= STALE_AFTER_MS ? 'stale' : 'live', ageMs }
}

export function isStale(status: LiveStatus): boolean {
  return status.kind === 'stale' || (status.kind === 'reconnecting' && status.isStale)
}

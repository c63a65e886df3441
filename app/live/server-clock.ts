/** Epoch ms of the server's clock minus the browser's monotonic clock. */
export type ClockOffset = number

/** Frames this much later than the quickest one mean that the clock was set, or the way has changed for good. */
const RESET_ABOVE_MS = 500

/**
 * A frame says when it was sent, and is older by its way when it arrives; the quickest one of them tells the offset best. It can
 * only seem too small by that way, never too large, unless the server's clock was set.
 */
export function nextClockOffset(known: ClockOffset | undefined, sentAt: number, receivedAt: number): ClockOffset {
  const seen = sentAt - receivedAt
  if (known === undefined || seen > known || known - seen > RESET_ABOVE_MS) return seen
  return known
}

/** The one place of the pages that reads a clock and wakes by itself; all else is told. */
const TICK_MS = 250

/** Ms on the browser's monotonic clock, which no change of its time of day moves. */
export function monotonicNow(): number {
  return performance.now()
}

export interface Ticker {
  subscribe(listener: () => void): () => void
}

/** Ticks while anybody listens, all of them in one go, so that ages on one page move together. */
export function createTicker(): Ticker {
  const listeners = new Set<() => void>()
  let timer: ReturnType<typeof setInterval> | undefined
  const tick = () => {
    for (const listener of listeners) listener()
  }
  return {
    subscribe(listener) {
      listeners.add(listener)
      timer ??= setInterval(tick, TICK_MS)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

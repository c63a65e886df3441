import type { Clock } from '../lib/clock.ts'

/** Who follows live and does not keep up: told by the API, shown to operators. */
export interface SlowReaders {
  /** It is sent nothing until it has read what waits for it. Call what is returned once when that is over; again does nothing. */
  stalled(): () => void
  /** It was hung up on. */
  dropped(): void
  read(): { readonly stalled: number; readonly dropped: number }
}

/** Those dropped are counted for this long. */
const TOLD_FOR_MS = 60_000
/** More than these are "so many or more". */
const MOST_COUNTED = 1_000

export function createSlowReaders(clock: Pick<Clock, 'monotonic'>): SlowReaders {
  let stalled = 0
  let dropped: readonly number[] = []

  return {
    stalled() {
      stalled++
      let isOver = false
      return () => {
        if (!isOver) stalled--
        isOver = true
      }
    },
    dropped() {
      dropped = [...recent(), clock.monotonic()].slice(-MOST_COUNTED)
    },
    read: () => ({ stalled, dropped: recent().length }),
  }

  function recent(): readonly number[] {
    const now = clock.monotonic()
    dropped = dropped.filter((at) => now - at < TOLD_FOR_MS)
    return dropped
  }
}

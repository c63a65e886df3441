import { yieldToEventLoop } from '../lib/clock.ts'

/**
 * Lets in what arrives in its order, a few at a turn of the event loop: in a storm of connects those that came first are
 * answered while the others still wait at the door, and everything else in this process keeps getting its turn.
 */
export interface Admission {
  /** Calls `enter` in its turn. */
  admit(enter: () => void): void
  /** Those that wait are dropped. */
  stop(): void
}

/** More at once make the first of a storm wait for the work of the last; fewer leave the turns half empty. */
const PER_TURN = 8

export function createAdmission(): Admission {
  const waiting: (() => void)[] = []
  let isRunning = false

  return {
    admit(enter) {
      waiting.push(enter)
      if (isRunning) return
      isRunning = true
      void run()
    },
    stop: () => void waiting.splice(0),
  }

  async function run() {
    while (waiting.length > 0) {
      for (const enter of waiting.splice(0, PER_TURN)) enter()
      await yieldToEventLoop()
    }
    isRunning = false
  }
}

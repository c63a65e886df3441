/**
 * The only source of time. Everything else takes a Clock (or, if pure, `now` as an argument), so that every wait can be
 * tested without waiting. Wall time answers "when" (it may jump); monotonic time answers "how long" (it never goes back).
 */
export interface Clock {
  /** Epoch milliseconds of the wall clock. May jump either way: for showing and storing, never for waiting. */
  now(): number
  /** Milliseconds since an arbitrary start; never goes back. Deadlines and ages are computed with it. */
  monotonic(): number
  /** Resolves after `ms` (0 or less: on a later turn of the event loop); rejects at once with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `fire` once, when monotonic time has reached `dueAt`, never in the same turn. */
  at(dueAt: number, fire: () => void): Timer
}

export interface Timer {
  /** Idempotent; after it `fire` is never called. */
  cancel(): void
}

/** Node's timers fire at once beyond this (about 24.8 days), so longer waits go in steps. */
export const MAX_TIMER_MS = 2 ** 31 - 1

export function createSystemClock(): Clock {
  const clock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
    at(dueAt, fire) {
      let handle: NodeJS.Timeout
      const arm = () => {
        const waitMs = dueAt - performance.now()
        handle = setTimeout(() => (performance.now() >= dueAt ? fire() : arm()), Math.min(Math.max(0, Math.ceil(waitMs)), MAX_TIMER_MS))
      }
      arm()
      return { cancel: () => clearTimeout(handle) }
    },
  }
  return clock
}

/** The sleep of any clock that has `at`. */
export function sleepOn(clock: Pick<Clock, 'at' | 'monotonic'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = clock.at(clock.monotonic() + Math.max(0, ms), () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Lets everything else that is ready run first: how long loops stay polite. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

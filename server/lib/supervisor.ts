import { type BackoffPolicy, backoffDelayMs } from './backoff.ts'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

/** Something long-lived: runs until its signal aborts, and returns when its last work is done. */
export interface Part {
  readonly name: string
  run(signal: AbortSignal): Promise<void>
}

export interface SupervisorDeps {
  readonly clock: Clock
  readonly random: Random
  /** A part ended though nobody asked it to; it is started again after `nextInMs`. */
  readonly onFailure: (failure: { readonly part: string; readonly error: unknown; readonly nextInMs: number }) => void
}

const RESTART: BackoffPolicy = { baseMs: 200, maxMs: 10_000, factor: 2, jitterPercent: 30 }
/** A part that ran this long was well: its next restart waits the base again. */
const STABLE_AFTER_MS = 30_000

/**
 * Runs parts side by side until the signal aborts, then stops them one after the other in reverse order, each to its end, so
 * that what feeds a part has stopped before it. A part that ends by itself is started again with growing waits.
 */
export async function superviseParts(parts: readonly Part[], signal: AbortSignal, deps: SupervisorDeps): Promise<void> {
  const running = parts.map((part) => {
    const stopping = new AbortController()
    return { stopping, done: keepRunning(part, stopping.signal, deps) }
  })
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  for (const { stopping, done } of running.toReversed()) {
    stopping.abort(signal.reason)
    await done
  }
}

async function keepRunning({ name, run }: Part, signal: AbortSignal, { clock, random, onFailure }: SupervisorDeps): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const startedAt = clock.monotonic()
    let error: unknown = new Error(`${name} ended by itself`)
    try {
      await run(signal)
    } catch (thrown) {
      error = thrown
    }
    if (signal.aborted) return
    if (clock.monotonic() - startedAt >= STABLE_AFTER_MS) attempt = 1
    const nextInMs = backoffDelayMs(RESTART, attempt, random)
    onFailure({ part: name, error, nextInMs })
    await clock.sleep(nextInMs, signal).catch(() => undefined)
    if (signal.aborted) return
  }
}

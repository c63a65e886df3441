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
  /** A part has not stopped within `graceMs`; the others are stopped without waiting for it any longer. */
  readonly onStuck: (part: string, graceMs: number) => void
  /** How long a part may take to stop before the next one is asked. Default 7,500 ms: above the deadline of a last flush. */
  readonly graceMs?: number
}

const RESTART: BackoffPolicy = { baseMs: 200, maxMs: 10_000, factor: 2, jitterPercent: 30 }
/** A part that ran this long was well: its next restart waits the base again. */
const STABLE_AFTER_MS = 30_000
const DEFAULT_GRACE_MS = 7_500

/**
 * Runs parts side by side until the signal aborts, then stops them one after the other in reverse order, each to its end, so
 * that what feeds a part has stopped before it. A part that hangs holds up the others for its grace only. A part that ends by
 * itself is started again with growing waits. Resolves when all have ended.
 */
export async function superviseParts(parts: readonly Part[], signal: AbortSignal, deps: SupervisorDeps): Promise<void> {
  const { clock, onStuck, graceMs = DEFAULT_GRACE_MS } = deps
  const running = parts.map((part) => {
    const stopping = new AbortController()
    return { name: part.name, stopping, done: keepRunning(part, stopping.signal, deps) }
  })
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  for (const { name, stopping, done } of running.toReversed()) {
    stopping.abort(signal.reason)
    const grace = Promise.withResolvers<void>()
    const timer = clock.at(clock.monotonic() + graceMs, () => {
      onStuck(name, graceMs)
      grace.resolve()
    })
    await Promise.race([done, grace.promise])
    timer.cancel()
  }
  await Promise.all(running.map(({ done }) => done))
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

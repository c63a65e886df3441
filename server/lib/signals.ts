import type { Clock } from './clock.ts'
import { CoreError } from './errors.ts'

/** A controller that aborts when any of the given signals does; `release` it when the work is over, or listeners pile up on long-lived signals. */
export function linkedController(...signals: readonly (AbortSignal | undefined)[]): {
  readonly controller: AbortController
  readonly signal: AbortSignal
  release(): void
} {
  const controller = new AbortController()
  const links = signals
    .filter((signal) => signal !== undefined)
    .map((signal) => {
      const onAbort = () => controller.abort(signal.reason)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
      return { signal, onAbort }
    })
  return {
    controller,
    signal: controller.signal,
    release() {
      for (const { signal, onAbort } of links) signal.removeEventListener('abort', onAbort)
    },
  }
}

/** A signal that aborts with a `timeout` CoreError after `ms`, on the given clock, independent of any other signal; `release` stops its timer. */
export function deadlineSignal(clock: Clock, ms: number): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const timer = clock.at(clock.monotonic() + ms, () => controller.abort(new CoreError('timeout', `not done within ${ms} ms`)))
  return { signal: controller.signal, release: () => timer.cancel() }
}

/** The work's outcome, or the signal's reason as soon as it aborts; the work itself goes on. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

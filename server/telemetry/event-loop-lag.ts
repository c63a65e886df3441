import type { Clock } from '../lib/clock.ts'
import { createRollingHistogram } from '../lib/rolling-histogram.ts'

/** How late the event loop runs timers: what every page and stream of this process waits for. */
export interface EventLoopLag {
  /** Of the last 10 s, in ms. */
  read(): { readonly p50: number; readonly p99: number }
  run(signal: AbortSignal): Promise<void>
}

const SAMPLE_EVERY_MS = 20
const WINDOW_MS = 10_000

/** Looks every 20 ms how late it was woken. `onSample` gets each lag in seconds. */
export function createEventLoopLag(clock: Pick<Clock, 'monotonic' | 'sleep'>, onSample: (seconds: number) => void): EventLoopLag {
  const lags = createRollingHistogram({ windowMs: WINDOW_MS, stepsPerUnit: 10 })
  return {
    read: () => ({ p50: lags.quantile(0.5, clock.monotonic()), p99: lags.quantile(0.99, clock.monotonic()) }),
    async run(signal) {
      while (!signal.aborted) {
        const dueAt = clock.monotonic() + SAMPLE_EVERY_MS
        await clock.sleep(SAMPLE_EVERY_MS, signal).catch(() => undefined)
        if (signal.aborted) return
        const lagMs = Math.max(0, clock.monotonic() - dueAt)
        lags.record(lagMs, clock.monotonic())
        onSample(lagMs / 1000)
      }
    },
  }
}

import { createRollingHistogram } from '../lib/rolling-histogram.ts'
import type { SinkRow } from '../model/views.ts'

/** How an attempt for one insight ended. `dropped`: its subject is gone, so there is nothing to write about. */
export type FlushResult = (typeof results)[number]
const results = ['written', 'unchanged', 'conflict', 'error', 'dropped'] as const

/** What a sink has done: totals since start, rates of the last seconds, lag of the last minute. Fixed memory. */
export interface SinkStatistics {
  count(result: FlushResult): void
  /** Time from the oldest change to its being stored. */
  lag(ms: number): void
  totals(): Readonly<Record<FlushResult, number>>
  snapshot(): Pick<SinkRow, 'flushes' | 'writesPerSecond' | 'lagMs' | 'perSecond' | 'recentWrites'>
}

const SECONDS = 60
const RATE_SECONDS = 10

/** `monotonic` gives the time in ms. */
export function createSinkStatistics(monotonic: () => number): SinkStatistics {
  const startedAt = monotonic()
  const totals: Record<FlushResult, number> = { written: 0, unchanged: 0, conflict: 0, error: 0, dropped: 0 }
  const seconds = Array.from({ length: SECONDS + 1 }, () => ({ second: -1, counts: { ...totals } }))
  const lags = createRollingHistogram({ windowMs: 60_000 })

  /** Counts of a whole second; undefined when nothing happened in it. */
  const at = (second: number) => {
    const slot = seconds[second % seconds.length]
    return slot?.second === second ? slot.counts : undefined
  }

  return {
    count(result) {
      totals[result]++
      const second = Math.floor(monotonic() / 1000)
      const slot = seconds[second % seconds.length] as (typeof seconds)[number]
      if (slot.second !== second) {
        slot.second = second
        for (const name of results) slot.counts[name] = 0
      }
      slot.counts[result]++
    },
    lag: (ms) => lags.record(ms, monotonic()),
    totals: () => ({ ...totals }),
    snapshot() {
      const now = monotonic()
      const second = Math.floor(now / 1000)
      // The second under way is not whole yet, so rates and the series end before it.
      const rateSeconds = Math.min(RATE_SECONDS, Math.max(1, second - Math.floor(startedAt / 1000)))
      const rate = (result: FlushResult) => {
        let sum = 0
        for (let back = 1; back <= rateSeconds; back++) sum += at(second - back)?.[result] ?? 0
        return sum / rateSeconds
      }
      const perSecond = { written: rate('written'), unchanged: rate('unchanged'), conflict: rate('conflict'), error: rate('error') }
      const { written, unchanged, conflict, error } = totals
      return {
        flushes: { written, unchanged, conflict, error },
        writesPerSecond: perSecond.written,
        perSecond,
        recentWrites: Array.from({ length: SECONDS }, (_, index) => at(second - SECONDS + index)?.written ?? 0),
        lagMs: { p50: lags.quantile(0.5, now), p99: lags.quantile(0.99, now) },
      }
    },
  }
}

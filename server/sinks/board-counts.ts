import { type Freshness, freshnessLevels, LATE_ABOVE, STALE_ABOVE } from '../model/freshness.ts'
import { type FreshnessStrip, STRIP_BUCKETS, STRIP_BUCKETS_PER_CADENCE } from '../model/views.ts'
import { type BoardEntry, type Cadence, latenessOf } from './board-entry.ts'

export interface BoardCounts {
  /** Data planes that reject something now. */
  readonly rejecting: number
  readonly strips: readonly FreshnessStrip[]
}

/** One pass over all entries for everything that is counted. Types that are stored here have a strip also when it is empty. */
export function countEntries(entries: Iterable<BoardEntry>, cadences: ReadonlyMap<string, Cadence>, now: number): BoardCounts {
  const strips = new Map([...cadences].map(([type, { cadenceMs }]) => [type, emptyStrip(cadenceMs)]))
  let rejecting = 0
  for (const entry of entries) {
    const strip = stripOf(entry)
    if (entry.rejected.length > 0 && entry.key.type === 'DataplaneInsight') rejecting++
    if (entry.heartbeatAt === 0) strip.counts.unknown++
    else if (!entry.online) strip.counts.offline++
    else {
      const lateness = latenessOf(entry, now)
      strip.counts[lateness <= LATE_ABOVE ? 'fresh' : lateness <= STALE_ABOVE ? 'late' : 'stale']++
      const bucket = Math.min(STRIP_BUCKETS - 1, Math.floor(lateness * STRIP_BUCKETS_PER_CADENCE))
      strip.buckets[bucket] = (strip.buckets[bucket] ?? 0) + 1
      if (entry.pendingSince !== null) strip.oldestPendingMs = Math.max(strip.oldestPendingMs, now - entry.pendingSince)
    }
  }
  return { rejecting, strips: [...strips].map(([type, strip]) => ({ type, ...strip })) }

  function stripOf({ key, observed, cadence: { cadenceMs } }: BoardEntry) {
    const known = strips.get(key.type)
    const strip = known ?? emptyStrip(cadenceMs)
    if (known === undefined) strips.set(key.type, strip)
    if (observed !== undefined) {
      strip.cadenceMs = Math.min(strip.cadenceMs, cadenceMs)
      strip.cadenceMaxMs = Math.max(strip.cadenceMaxMs, cadenceMs)
    }
    return strip
  }
}

function emptyStrip(cadenceMs: number) {
  const counts = Object.fromEntries(freshnessLevels.map((level) => [level, 0])) as Record<Freshness, number>
  return { cadenceMs, cadenceMaxMs: cadenceMs, counts, buckets: Array.from({ length: STRIP_BUCKETS }, () => 0), oldestPendingMs: 0 }
}

import { createRollingHistogram, type RollingHistogram } from '../lib/rolling-histogram.ts'
import type { LinkRow } from '../model/link-row.ts'

/** What a link has seen and asked: totals since it was made, rates and lags of the last while. Bounded whatever the rate. */
export interface LinkStatistics {
  event(lagMs: number | undefined, isBookmark: boolean): void
  /** Returns the code it was counted under: their number is bounded. */
  request(verb: string, code: string): string
  relist(reason: string): void
  reconnect(cause: string): void
  bad(what: string): void
  objects(count: number): void
  row(): Pick<
    LinkRow,
    'lastEventAt' | 'lastBookmarkAt' | 'eventsPerSecond' | 'eventLagMs' | 'objects' | 'bad' | 'relists' | 'requests' | 'reconnects'
  >
  /** Its rates still change though nothing new arrives. */
  isMoving(): boolean
  badOnes(): readonly { readonly what: string; readonly at: number }[]
  requestsByVerb(): Readonly<Record<string, Readonly<Record<string, number>>>>
}

const RATE_SECONDS = 10
const LAG_WINDOW_MS = 60_000
const BAD_KEPT = 20
const BAD_LENGTH = 300
/** Different codes kept apart, per verb: whatever a peer invents. */
const MAX_CODES = 24
const OTHER = 'other'

export function createLinkStatistics(clock: { now(): number; monotonic(): number }): LinkStatistics {
  const seconds = Array.from({ length: RATE_SECONDS + 1 }, () => ({ second: -1, count: 0 }))
  const requests = new Map<string, Map<string, number>>()
  const relists = new Map<string, number>()
  const reconnects = new Map<string, number>()
  let badOnes: readonly { readonly what: string; readonly at: number }[] = []
  let badCount = 0
  let lags: RollingHistogram | undefined
  let lastLagAt = -Infinity
  let lastEventMonotonic = -Infinity
  let lastEventAt: number | null = null
  let lastBookmarkAt: number | null = null
  let objectCount: number | null = null

  function eventsPerSecond(): number {
    const current = Math.floor(clock.monotonic() / 1000)
    const counted = seconds.filter(({ second }) => second < current && second >= current - RATE_SECONDS)
    return counted.reduce((sum, { count }) => sum + count, 0) / RATE_SECONDS
  }

  return {
    event(lagMs, isBookmark) {
      if (isBookmark) {
        lastBookmarkAt = clock.now()
        return
      }
      lastEventAt = clock.now()
      lastEventMonotonic = clock.monotonic()
      const second = Math.floor(lastEventMonotonic / 1000)
      const slot = seconds[second % seconds.length]!
      if (slot.second !== second) {
        slot.second = second
        slot.count = 0
      }
      slot.count++
      if (lagMs === undefined) return
      lags ??= createRollingHistogram({ windowMs: LAG_WINDOW_MS })
      lastLagAt = clock.monotonic()
      lags.record(lagMs, lastLagAt)
    },
    request(verb, code) {
      const codes = requests.getOrInsertComputed(verb, () => new Map())
      const known = codes.has(code) || codes.size < MAX_CODES ? code : OTHER
      count(codes, known)
      return known
    },
    relist: (reason) => count(relists, reason),
    reconnect: (cause) => count(reconnects, cause),
    bad(what) {
      badCount++
      badOnes = [...badOnes, { what: what.slice(0, BAD_LENGTH), at: clock.now() }].slice(-BAD_KEPT)
    },
    objects(total) {
      objectCount = total
    },
    row() {
      const now = clock.monotonic()
      const byCode = new Map<string, number>()
      for (const codes of requests.values()) for (const [code, times] of codes) byCode.set(code, (byCode.get(code) ?? 0) + times)
      return {
        lastEventAt,
        lastBookmarkAt,
        eventsPerSecond: eventsPerSecond(),
        eventLagMs:
          lags === undefined || now - lastLagAt > LAG_WINDOW_MS ? null : { p50: lags.quantile(0.5, now), p99: lags.quantile(0.99, now) },
        objects: objectCount,
        bad: { count: badCount, last: badOnes.at(-1) ?? null },
        relists: Object.fromEntries(relists),
        requests: Object.fromEntries(byCode),
        reconnects: Object.fromEntries(reconnects),
      }
    },
    isMoving: () => clock.monotonic() - lastEventMonotonic < (RATE_SECONDS + 2) * 1000,
    badOnes: () => badOnes,
    requestsByVerb: () => Object.fromEntries(requests.entries().map(([verb, codes]) => [verb, Object.fromEntries(codes)])),
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

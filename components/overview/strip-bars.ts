import { type Freshness, LATE_ABOVE, STALE_ABOVE } from '../../server/model/freshness.ts'
import { STRIP_BUCKETS, STRIP_BUCKETS_PER_CADENCE } from '../../server/model/views.ts'

export interface StripBar {
  readonly level: Freshness
  /** 0 to 1 of the strip's height. */
  readonly height: number
}

/** Where each level begins and ends, in percent of the strip's width. */
export const stripZones = [
  { level: 'fresh', from: 0, to: percentOf(LATE_ABOVE) },
  { level: 'late', from: percentOf(LATE_ABOVE), to: percentOf(STALE_ABOVE) },
  { level: 'stale', from: percentOf(STALE_ABOVE), to: 100 },
] as const

/** The least of what is there can be seen. */
const LEAST_HEIGHT = 0.06

/** Heights grow with the square root, so that three late ones among ten thousand are not a line as thin as none. */
export function stripBarsOf(buckets: readonly number[]): readonly StripBar[] {
  const highest = Math.max(1, ...buckets)
  return buckets.map((count, index) => {
    const lateness = index / STRIP_BUCKETS_PER_CADENCE
    return {
      level: lateness >= STALE_ABOVE ? 'stale' : lateness >= LATE_ABOVE ? 'late' : 'fresh',
      height: count === 0 ? 0 : Math.max(LEAST_HEIGHT, Math.sqrt(count / highest)),
    }
  })
}

/** The same in words and numbers: how many in each half cadence, the last one and all above it in one. */
export function stripTableOf(buckets: readonly number[]): readonly { readonly label: string; readonly count: number }[] {
  const perRow = STRIP_BUCKETS_PER_CADENCE / 2
  const rows = STRIP_BUCKETS / perRow
  return Array.from({ length: rows }, (_, row) => ({
    label: row === rows - 1 ? `${row / 2} times its cadence and more` : `${row / 2} to ${(row + 1) / 2} times its cadence`,
    count: buckets
      .slice(Math.ceil(row * perRow), row === rows - 1 ? undefined : Math.ceil((row + 1) * perRow))
      .reduce((sum, count) => sum + count, 0),
  }))
}

function percentOf(lateness: number): number {
  return (100 * lateness * STRIP_BUCKETS_PER_CADENCE) / STRIP_BUCKETS
}

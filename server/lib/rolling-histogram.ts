/** Quantiles of what was recorded in the last while, in fixed memory whatever the rate: within 1.6 % of the true value. */
export interface RollingHistogram {
  /** `value` >= 0, in the unit the histogram was made for. `now` is monotonic. */
  record(value: number, now: number): void
  /** The value below which the share `q` (0..1) of the window's values lies; 0 when there are none. */
  quantile(q: number, now: number): number
}

export interface RollingHistogramOptions {
  /** How far back values count. The window moves in steps of a sixth of it. */
  readonly windowMs: number
  /** So many steps of a unit are kept apart; whole, so that quantiles are short decimals. Default 1. */
  readonly stepsPerUnit?: number
}

const SLICES = 6
/** Values up to this many steps are kept exactly; above, each doubling has half as many buckets. */
const EXACT = 128
const OCTAVES = 24
const BUCKETS = EXACT + (OCTAVES * EXACT) / 2

export function createRollingHistogram({ windowMs, stepsPerUnit = 1 }: RollingHistogramOptions): RollingHistogram {
  const sliceMs = windowMs / SLICES
  const slices = Array.from({ length: SLICES + 1 }, () => ({ index: -1, total: 0, counts: new Uint32Array(BUCKETS) }))

  return {
    record(value, now) {
      const index = Math.floor(now / sliceMs)
      const slice = slices[index % slices.length] as (typeof slices)[number]
      if (slice.index !== index) {
        slice.index = index
        slice.total = 0
        slice.counts.fill(0)
      }
      const bucket = bucketOf(Math.round(Math.max(0, value) * stepsPerUnit))
      slice.counts[bucket] = (slice.counts[bucket] ?? 0) + 1
      slice.total++
    },
    quantile(q, now) {
      const index = Math.floor(now / sliceMs)
      const live = slices.filter((slice) => slice.total > 0 && slice.index > index - slices.length && slice.index <= index)
      const total = live.reduce((sum, slice) => sum + slice.total, 0)
      if (total === 0) return 0
      const rank = Math.max(1, Math.ceil(q * total))
      let seen = 0
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        for (const { counts } of live) seen += counts[bucket] ?? 0
        if (seen >= rank) return valueOf(bucket) / stepsPerUnit
      }
      return valueOf(BUCKETS - 1) / stepsPerUnit
    },
  }
}

function bucketOf(steps: number): number {
  if (steps < EXACT) return steps
  const octave = 31 - Math.clz32(Math.min(steps, 2 ** 30)) - Math.log2(EXACT) + 1
  return Math.min(BUCKETS - 1, EXACT + (octave - 1) * (EXACT / 2) + Math.floor(Math.min(steps, 2 ** 30) / 2 ** octave) - EXACT / 2)
}

/** The middle of what falls into the bucket. */
function valueOf(bucket: number): number {
  if (bucket < EXACT) return bucket
  const octave = Math.floor((bucket - EXACT) / (EXACT / 2)) + 1
  const low = (((bucket - EXACT) % (EXACT / 2)) + EXACT / 2) * 2 ** octave
  return low + (2 ** octave - 1) / 2
}

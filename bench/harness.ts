import { availableParallelism } from 'node:os'

/** One comparison: the same work by Tidewatch and by what operators run today, several times in turn, in one run. */
export interface Pair {
  /** Stable: results are kept by it. */
  readonly id: string
  readonly title: string
  readonly unit: string
  /** At least so many times better. For a bound: 1. */
  readonly target: number
  /** Less is better in both; one entry per repeat. */
  readonly runs: readonly Run[]
  /** What one should know to read it: what the baseline is, CPU of both. */
  readonly note?: string
}

export interface Run {
  readonly ours: number
  readonly baseline: number
}

export interface Bench {
  /** As it is asked for by `npm run bench -- name`. */
  readonly name: string
  run(): Promise<readonly Pair[]>
}

/** One entry of bench/results.json. */
export interface BenchResult {
  readonly id: string
  readonly title: string
  readonly ratio: number
  readonly min: number
  readonly max: number
  readonly target: number
  readonly ok: boolean
  readonly ours: number
  readonly baseline: number
  readonly unit: string
  readonly runs: number
  readonly node: string
  readonly cpus: number
  readonly note?: string
}

export function toResult({ id, title, unit, target, runs, note }: Pair): BenchResult {
  const ratios = runs.map(({ ours, baseline }) => baseline / Math.max(ours, Number.EPSILON))
  const ratio = median(ratios)
  return {
    id,
    title,
    ratio: round(ratio),
    min: round(Math.min(...ratios)),
    max: round(Math.max(...ratios)),
    target,
    ok: ratio >= target,
    ours: round(median(runs.map(({ ours }) => ours))),
    baseline: round(median(runs.map(({ baseline }) => baseline))),
    unit,
    runs: runs.length,
    node: process.version,
    cpus: availableParallelism(),
    ...(note !== undefined && { note }),
  }
}

/** A bound instead of a baseline: how often what was measured fits into it. */
export function bound(limit: number, measured: readonly number[]): readonly Run[] {
  return measured.map((ours) => ({ ours, baseline: limit }))
}

/** Both arms in turn, the order changed each time, so that what the machine does meanwhile meets both. */
export async function inTurn(
  repeats: number,
  arms: { readonly ours: () => Promise<number>; readonly baseline: () => Promise<number> },
): Promise<readonly Run[]> {
  const runs: Run[] = []
  for (let repeat = 0; repeat < repeats; repeat++) {
    if (repeat % 2 === 0) {
      const ours = await arms.ours()
      runs.push({ ours, baseline: await arms.baseline() })
    } else {
      const baseline = await arms.baseline()
      runs.push({ ours: await arms.ours(), baseline })
    }
  }
  return runs
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const low = sorted[Math.floor(place)] ?? NaN
  const high = sorted[Math.ceil(place)] ?? NaN
  return low + (high - low) * (place - Math.floor(place))
}

/** Milliseconds of CPU of this process, user and system, since `start`. */
export function cpuMs(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}

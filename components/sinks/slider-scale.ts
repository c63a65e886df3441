import { formatExactSpan } from '../format.ts'

/** A slider over spans from 100 ms to 10 min: as much way from 100 ms to 1 s as from 1 min to 10 min. */
export interface SpanRange {
  readonly min: number
  readonly max: number
}

export const SLIDER_STEPS = 1_000

/** Steps from 0 to SLIDER_STEPS; what is out of range stands at its end. */
export function toSliderStep(ms: number, { min, max }: SpanRange): number {
  const inside = Math.min(max, Math.max(min, ms))
  return Math.round((SLIDER_STEPS * Math.log(inside / min)) / Math.log(max / min))
}

/** A value one would also have typed: 4 s, not 3,981 ms. The ends are exact. */
export function fromSliderStep(step: number, range: SpanRange): number {
  const { min, max } = range
  const exact = min * (max / min) ** (step / SLIDER_STEPS)
  const distance = (ms: number) => Math.abs(Math.log(ms / exact))
  return stopsOf(range).reduce((best, each) => (distance(each) < distance(best) ? each : best))
}

/** One value further, as an arrow key goes; at an end, the end. */
export function nextStop(ms: number, direction: 'up' | 'down', range: SpanRange): number {
  const stops = stopsOf(range)
  return direction === 'up' ? (stops.find((stop) => stop > ms) ?? range.max) : (stops.findLast((stop) => stop < ms) ?? range.min)
}

export interface SliderLabel {
  readonly text: string
  /** Of the slider's way. */
  readonly percent: number
}

const landmarks = [100, 1_000, 10_000, 60_000, 600_000]
/** Labels nearer to each other than this would touch on a narrow screen. */
const LEAST_GAP_PERCENT = 13

/** What stands under the slider: what is in force, and the landmarks it leaves room for. */
export function sliderLabels(range: SpanRange, present: number): readonly SliderLabel[] {
  const percentOf = (ms: number) => (100 * toSliderStep(ms, range)) / SLIDER_STEPS
  const now = { text: `${formatExactSpan(present)} now`, percent: percentOf(present) }
  const others = landmarks
    .filter((ms) => ms >= range.min && ms <= range.max)
    .map((ms) => ({ text: formatExactSpan(ms), percent: percentOf(ms) }))
    .filter(({ percent }) => Math.abs(percent - now.percent) >= LEAST_GAP_PERCENT)
  return [...others, now].toSorted((a, b) => a.percent - b.percent)
}

const mantissas = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]
const minutes = [1, 1.5, 2, 3, 4, 5, 6, 8, 10]
const stops = [
  ...[1, 10, 100, 1_000, 10_000].flatMap((unit) => mantissas.map((each) => Math.round(each * unit))).filter((ms) => ms < 60_000),
  ...minutes.map((each) => each * 60_000),
]

function stopsOf({ min, max }: SpanRange): readonly number[] {
  return [min, ...stops.filter((ms) => ms > min && ms < max), max]
}

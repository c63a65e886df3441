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
export function fromSliderStep(step: number, { min, max }: SpanRange): number {
  if (step <= 0) return min
  if (step >= SLIDER_STEPS) return max
  const exact = min * (max / min) ** (step / SLIDER_STEPS)
  const unit = exact >= 60_000 ? 60_000 : exact >= 1_000 ? 1_000 : 1
  return Math.min(max, Math.max(min, Math.round(roundedNicely(exact / unit) * unit)))
}

const niceMantissas = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

function roundedNicely(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value))
  const mantissa = value / magnitude
  const nearest = niceMantissas.reduce((best, each) => (Math.abs(each - mantissa) < Math.abs(best - mantissa) ? each : best))
  return nearest * magnitude
}

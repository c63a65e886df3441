'use client'

import { formatExactSpan } from '../format.ts'
import { fromSliderStep, SLIDER_STEPS, type SpanRange, toSliderStep } from './slider-scale.ts'

export interface IntervalSliderProps {
  readonly value: number
  /** What is in force: marked on the scale. */
  readonly present: number
  readonly range: SpanRange
  readonly onChange: (ms: number) => void
}

const ticks = [100, 1_000, 10_000, 60_000, 600_000]

/** The same value as the field above it, on a scale where each step multiplies. */
export function IntervalSlider({ value, present, range, onChange }: IntervalSliderProps) {
  const percent = (ms: number) => (100 * toSliderStep(ms, range)) / SLIDER_STEPS
  return (
    <div className="mt-2 px-0.5">
      <div className="relative">
        <span
          aria-hidden
          title={`now ${formatExactSpan(present)}`}
          className="absolute top-1/2 h-4 w-0.5 -translate-x-1/2 -translate-y-1/2 bg-muted"
          style={{ left: `calc(0.5rem + ${percent(present)} * (100% - 1rem) / 100)` }}
        />
        <input
          type="range"
          aria-label="Flush interval, by slider"
          aria-valuetext={formatExactSpan(value)}
          min={0}
          max={SLIDER_STEPS}
          step={10}
          value={toSliderStep(value, range)}
          onChange={(event) => onChange(fromSliderStep(Number(event.target.value), range))}
          className="relative block w-full cursor-pointer"
        />
      </div>
      <div aria-hidden className="relative mx-2 mt-0.5 h-4 text-[0.7rem] text-muted">
        {ticks
          .filter((ms) => ms >= range.min && ms <= range.max)
          .map((ms) => (
            <span
              key={ms}
              className="absolute -translate-x-1/2 whitespace-nowrap first:-translate-x-2 last:-translate-x-[calc(100%-0.5rem)]"
              style={{ left: `${percent(ms)}%` }}
            >
              {formatExactSpan(ms)}
            </span>
          ))}
      </div>
    </div>
  )
}

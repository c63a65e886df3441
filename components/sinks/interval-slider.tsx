'use client'

import { formatExactSpan } from '../format.ts'
import { fromSliderStep, nextStop, SLIDER_STEPS, sliderLabels, type SpanRange, toSliderStep } from './slider-scale.ts'

declare module 'react' {
  interface CSSProperties {
    /** How much of a slider's way is behind its thumb. */
    readonly '--share'?: string
  }
}

export interface IntervalSliderProps {
  readonly value: number
  /** What is in force: marked on the scale. */
  readonly present: number
  readonly range: SpanRange
  readonly onChange: (ms: number) => void
}

/** The same value as the field above it, on a scale where each step multiplies. */
export function IntervalSlider({ value, present, range, onChange }: IntervalSliderProps) {
  const percent = (ms: number) => (100 * toSliderStep(ms, range)) / SLIDER_STEPS
  return (
    <div className="mt-1.5">
      <div className="relative">
        <span
          aria-hidden
          className="absolute top-1/2 h-3.5 w-px -translate-y-1/2 bg-muted"
          style={{ left: `calc(0.5rem + ${percent(present)} * (100% - 1rem) / 100)` }}
        />
        <input
          type="range"
          aria-label="Flush interval, by slider"
          aria-valuetext={formatExactSpan(value)}
          min={0}
          max={SLIDER_STEPS}
          value={toSliderStep(value, range)}
          onChange={(event) => onChange(fromSliderStep(Number(event.target.value), range))}
          onKeyDown={(event) => {
            const direction = directions[event.key]
            if (direction === undefined) return
            event.preventDefault()
            onChange(nextStop(value, direction, range))
          }}
          className="slider relative block h-6 w-full cursor-pointer"
          style={{ '--share': `${percent(value)}%` }}
        />
      </div>
      <div aria-hidden className="relative mx-2 h-4 text-[0.7rem] text-muted">
        {sliderLabels(range, present).map(({ text, percent }) => (
          <span key={text} className={`absolute whitespace-nowrap ${alignAt(percent)}`} style={{ left: `${percent}%` }}>
            {text}
          </span>
        ))}
      </div>
    </div>
  )
}

const directions: Readonly<Record<string, 'up' | 'down'>> = { ArrowRight: 'up', ArrowUp: 'up', ArrowLeft: 'down', ArrowDown: 'down' }

/** At the ends a label begins or ends where the thumb does. */
function alignAt(percent: number): string {
  if (percent < 6) return '-translate-x-2'
  return percent > 94 ? '-translate-x-[calc(100%-0.5rem)]' : '-translate-x-1/2'
}

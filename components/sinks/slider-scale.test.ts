import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromSliderStep, SLIDER_STEPS, toSliderStep } from './slider-scale.ts'

const range = { min: 100, max: 600_000 }
const step = fc.integer({ min: 0, max: SLIDER_STEPS })

describe('the slider of intervals', () => {
  it('has the ends of the range at its ends', () => {
    expect(fromSliderStep(0, range)).toBe(100)
    expect(fromSliderStep(SLIDER_STEPS, range)).toBe(600_000)
    expect(toSliderStep(100, range)).toBe(0)
    expect(toSliderStep(600_000, range)).toBe(SLIDER_STEPS)
  })

  it('has what is out of range at the nearest end', () => {
    expect(toSliderStep(5, range)).toBe(0)
    expect(toSliderStep(10_000_000, range)).toBe(SLIDER_STEPS)
  })

  it.each([1_000, 4_000, 10_000, 60_000, 120_000])('meets %d ms exactly', (ms) =>
    expect(fromSliderStep(toSliderStep(ms, range), range)).toBe(ms),
  )

  it('never goes back when it is moved on, and stays within the range', () => {
    fc.assert(
      fc.property(step, step, (a, b) => {
        const [low, high] = [fromSliderStep(Math.min(a, b), range), fromSliderStep(Math.max(a, b), range)]
        expect(low).toBeLessThanOrEqual(high)
        expect(low).toBeGreaterThanOrEqual(range.min)
        expect(high).toBeLessThanOrEqual(range.max)
      }),
    )
  })

  it('gives whole milliseconds', () => {
    fc.assert(
      fc.property(step, (each) => {
        expect(Number.isInteger(fromSliderStep(each, range))).toBe(true)
      }),
    )
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromSliderStep, nextStop, SLIDER_STEPS, sliderLabels, toSliderStep } from './slider-scale.ts'

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

  it('moves on with every press of an arrow key until its end, and back the same way', () => {
    const walk = (from: number, direction: 'up' | 'down', end: number) => {
      const seen = [from]
      while (seen.at(-1) !== end && seen.length < 100) seen.push(nextStop(seen.at(-1)!, direction, range))
      return seen
    }
    const up = walk(100, 'up', 600_000)
    expect(new Set(up).size).toBe(up.length)
    expect(up).toEqual(up.toSorted((a, b) => a - b))
    expect(walk(600_000, 'down', 100)).toEqual(up.toReversed())
    expect(nextStop(600_000, 'up', range)).toBe(600_000)
    expect(nextStop(100, 'down', range)).toBe(100)
    expect(nextStop(3_981, 'up', range)).toBe(4_000)
  })

  it('is labelled with what is in force, and with landmarks that leave it room', () => {
    expect(sliderLabels(range, 10_000).map(({ text }) => text)).toEqual(['100 ms', '1 s', '10 s now', '1 min', '10 min'])
    expect(sliderLabels(range, 2_000).map(({ text }) => text)).toEqual(['100 ms', '2 s now', '10 s', '1 min', '10 min'])
    expect(sliderLabels(range, 600_000).map(({ text }) => text)).toEqual(['100 ms', '1 s', '10 s', '1 min', '10 min now'])
  })

  it('gives whole milliseconds', () => {
    fc.assert(
      fc.property(step, (each) => {
        expect(Number.isInteger(fromSliderStep(each, range))).toBe(true)
      }),
    )
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRollingHistogram } from './rolling-histogram.ts'

describe('a rolling histogram', () => {
  it('says 0 when nothing was recorded', () => {
    expect(createRollingHistogram({ windowMs: 60_000 }).quantile(0.99, 5)).toBe(0)
  })

  it('gives small values exactly', () => {
    const histogram = createRollingHistogram({ windowMs: 60_000 })
    for (let value = 1; value <= 100; value++) histogram.record(value, 0)
    expect(histogram.quantile(0.5, 0)).toBe(50)
    expect(histogram.quantile(0.99, 0)).toBe(99)
    expect(histogram.quantile(1, 0)).toBe(100)
  })

  it('keeps the steps of a unit apart, and gives them as short decimals', () => {
    const histogram = createRollingHistogram({ windowMs: 10_000, stepsPerUnit: 10 })
    for (const value of [0.1, 0.7, 0.9]) histogram.record(value, 0)
    expect(histogram.quantile(0.5, 0)).toBe(0.7)
  })

  it('is within 1.6 % of the true quantile, whatever the values', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 2 ** 29 }), { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, q) => {
          const histogram = createRollingHistogram({ windowMs: 60_000 })
          for (const value of values) histogram.record(value, 1_000)
          const exact = values.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(q * values.length)) - 1] ?? 0
          expect(Math.abs(histogram.quantile(q, 1_000) - exact)).toBeLessThanOrEqual(Math.max(0, exact * 0.016))
        },
      ),
    )
  })

  it('forgets what is older than its window, and what is beyond its largest bucket it takes for that', () => {
    const histogram = createRollingHistogram({ windowMs: 60_000 })
    histogram.record(Number.MAX_SAFE_INTEGER, 0)
    expect(histogram.quantile(0.5, 59_000)).toBeGreaterThan(2 ** 29)
    histogram.record(7, 61_000)
    expect(histogram.quantile(1, 71_000)).toBe(7)
    expect(histogram.quantile(1, 1e9)).toBe(0)
    histogram.record(9, 1e9)
    expect(histogram.quantile(0, 1e9)).toBe(9)
  })
})

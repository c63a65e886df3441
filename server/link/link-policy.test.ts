import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exponentialPolicy, waitsOf } from './link-policy.ts'
import { plainPolicy } from './testing/scripted-connector.ts'

describe('the usual policy', () => {
  const jittered = exponentialPolicy({ ...plainPolicy, jitter: true })

  it('spreads each wait over a fifth either way, and at the cap below it', () => {
    expect([0, 0.5, 0.999].map((roll) => Math.round(jittered.delayMs(1, roll)))).toEqual([640, 800, 960])
    expect([0, 0.5, 0.75].map((roll) => Math.round(jittered.delayMs(9, roll)))).toEqual([24_000, 30_000, 27_000])
  })

  it('keeps links apart at the cap too: no wait is the cap for more than chance would have it', () => {
    const waits = Array.from({ length: 100 }, (_, index) => Math.round(jittered.delayMs(20, index / 100)))
    expect(new Set(waits).size).toBeGreaterThan(45)
  })

  it('is within 0 and the cap for any values', () => {
    const values = fc.record({
      baseBackoffMs: fc.integer({ min: 0, max: 600_000 }),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
      maxBackoffMs: fc.integer({ min: 1, max: 3_600_000 }),
      jitter: fc.boolean(),
    })
    fc.assert(
      fc.property(
        values,
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (changes, attempt, roll) => {
          const waitMs = exponentialPolicy({ ...plainPolicy, ...changes }).delayMs(attempt, roll)
          return waitMs >= 0 && waitMs <= changes.maxBackoffMs
        },
      ),
    )
  })

  it('is drawn until it no longer grows', () => {
    expect(waitsOf(jittered)).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000])
    expect(waitsOf(exponentialPolicy({ ...plainPolicy, factor: 1 }))).toEqual([800])
  })
})

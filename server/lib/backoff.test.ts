import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffDelayMs, type BackoffPolicy } from './backoff.ts'
import { MAX_TIMER_MS } from './clock.ts'

const policy: BackoffPolicy = { baseMs: 1_000, maxMs: 30_000, factor: 2, jitterPercent: 0 }
const half = () => 0.5

describe('a backoff', () => {
  it('doubles from its base to its cap, exactly when there is no jitter', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((attempt) => backoffDelayMs(policy, attempt, () => 0.99))).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
    ])
  })

  it('spreads evenly to both sides by its jitter', () => {
    const spread = { ...policy, jitterPercent: 30 }
    expect(backoffDelayMs(spread, 1, () => 0)).toBeCloseTo(700)
    expect(backoffDelayMs(spread, 1, half)).toBeCloseTo(1_000)
    expect(backoffDelayMs(spread, 1, () => 0.999_999)).toBeCloseTo(1_300, 0)
  })

  it('never goes below nothing or beyond what it may, however much jitter is asked for', () => {
    expect(backoffDelayMs({ ...policy, jitterPercent: 150 }, 1, () => 0)).toBe(0)
    expect(backoffDelayMs({ ...policy, jitterPercent: 100 }, 20, () => 0.999_999)).toBe(30_000)
  })

  it('does not overflow after many attempts', () => {
    for (const attempt of [70, 1_100, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])
      expect(backoffDelayMs(policy, attempt, half)).toBe(30_000)
    expect(backoffDelayMs({ ...policy, factor: 1 }, Number.POSITIVE_INFINITY, half)).toBe(1_000)
  })

  it('is never longer than a timer can wait, even without a cap', () => {
    expect(backoffDelayMs({ ...policy, maxMs: Number.POSITIVE_INFINITY }, 25, half)).toBeLessThanOrEqual(MAX_TIMER_MS)
  })

  it('is nothing where its base or its cap is', () => {
    expect(backoffDelayMs({ ...policy, baseMs: 0 }, 5, half)).toBe(0)
    expect(backoffDelayMs({ ...policy, baseMs: -1 }, 5, half)).toBe(0)
    expect(backoffDelayMs({ ...policy, maxMs: 0 }, 5, half)).toBe(0)
  })

  it('is within its bounds for any policy, attempt and chance', () => {
    const number = fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.constant(0), fc.constant(-0))
    const anyPolicy = fc.record({ baseMs: number, maxMs: number, factor: number, jitterPercent: number })
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(anyPolicy, number, chance, (anything, attempt, random) => {
        const delayMs = backoffDelayMs(anything, attempt, () => random)
        expect(Number.isFinite(delayMs) && delayMs >= 0).toBe(true)
        expect(delayMs).toBeLessThanOrEqual(Math.min(Math.max(0, anything.maxMs), MAX_TIMER_MS))
      }),
      { numRuns: 2_000 },
    )
  })

  it('never shrinks from one attempt to the next without jitter', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 5, noNaN: true }), fc.integer({ min: 1, max: 200 }), (factor, attempt) => {
        const at = (n: number) => backoffDelayMs({ ...policy, factor }, n, half)
        expect(at(attempt + 1)).toBeGreaterThanOrEqual(at(attempt))
      }),
    )
  })
})

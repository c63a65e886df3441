import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextClockOffset } from './server-clock.ts'

describe('the offset of the server clock', () => {
  it('is what the first frame says', () => expect(nextClockOffset(undefined, 5_000, 1_000)).toBe(4_000))

  it('follows the quickest frame, and no slower one', () => {
    expect(nextClockOffset(4_000, 6_000, 1_990)).toBe(4_010)
    expect(nextClockOffset(4_000, 6_000, 2_300)).toBe(4_000)
  })

  it('is read anew when the clock was set back', () => expect(nextClockOffset(4_000, 3_000, 2_000)).toBe(1_000))

  it('is never above the true one, and within the shortest way below it', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1 }), (truth, ways) => {
        let offset: number | undefined
        let at = 0
        for (const way of ways) {
          at += 1_000
          offset = nextClockOffset(offset, at + truth, at + way)
        }
        expect(offset).toBe(truth - Math.min(...ways))
      }),
    )
  })
})

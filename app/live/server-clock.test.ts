import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextClockOffset } from './server-clock.ts'

describe('the offset of the server clock', () => {
  it('is the one of the quickest frame', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 30 }), (ways) => {
        let offset: number | undefined
        for (const [index, way] of ways.entries()) offset = nextClockOffset(offset, 1_000_000 + index * 250, index * 250 + way)
        expect(offset).toBe(1_000_000 - Math.min(...ways))
      }),
    )
  })

  it('follows a clock that was set back or forth', () => {
    expect(nextClockOffset(1_000_000, 940_100, 100)).toBe(940_000)
    expect(nextClockOffset(1_000_000, 1_060_100, 100)).toBe(1_060_000)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatExactSpan } from './format.ts'
import { parseSpan } from './parse-span.ts'

describe('what one types as an interval', () => {
  it.each([
    ['4', 4_000],
    ['4 s', 4_000],
    ['4s', 4_000],
    ['500ms', 500],
    ['2 min', 120_000],
    ['2m', 120_000],
    ['1,5 s', 1_500],
    ['1.5', 1_500],
    ['1 min 30 s', 90_000],
    [' 10 Seconds ', 10_000],
    ['1 h', 3_600_000],
    ['0', 0],
  ])('%j is %d ms', (text, ms) => expect(parseSpan(text)).toBe(ms))

  it.each(['', 'soon', '4 x', '-1', '1e3', '4 s soon', 's', '4..5', '1 constructor', 'auto'])('%j is no span', (text) =>
    expect(parseSpan(text)).toBeUndefined(),
  )

  it('reads back every span as the settings write it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_600_000 }), (ms) => {
        expect(parseSpan(formatExactSpan(ms))).toBe(ms)
      }),
    )
  })
})

import { expect, it } from 'vitest'
import { parseGoDuration } from './go-duration.ts'

it.each([
  ['10s', 10_000],
  ['5m0s', 300_000],
  ['1h0m0s', 3_600_000],
  ['1.5s', 1_500],
  ['250ms', 250],
  ['0s', 0],
  ['0', 0],
  ['-1s', -1_000],
  ['1µs', 0.001],
])('a Go duration %s is %d ms', (text, ms) => expect(parseGoDuration(text)).toBeCloseTo(ms, 9))

it.each(['', 'zzz', '10', '10 s', 's', '1h1', '1d', '--1s'])('"%s" is none', (text) => expect(parseGoDuration(text)).toBeUndefined())

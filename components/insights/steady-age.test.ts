import { expect, it } from 'vitest'
import { steadyAge } from './steady-age.ts'

it.each([
  [-20, '<1 s'],
  [0, '<1 s'],
  [999, '<1 s'],
  [1000, '1 s'],
  [8999, '8 s'],
  [119_999, '119 s'],
  [120_000, '2 min'],
  [7_199_999, '119 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 d'],
])('words an age of %i ms as %s, without tenths that flicker', (ms, words) => {
  expect(steadyAge(ms)).toBe(words)
})

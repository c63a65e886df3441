import { expect, it } from 'vitest'
import { steadyAge } from './steady-age.ts'

it.each([
  [-20, '<1 s'],
  [0, '<1 s'],
  [999, '<1 s'],
  [1000, '1 s'],
  [8999, '8 s'],
  [252_900, '4 min 12 s'],
])('words an age of %i ms as %s, without tenths that flicker', (ms, words) => {
  expect(steadyAge(ms)).toBe(words)
})

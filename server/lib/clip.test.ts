import { describe, expect, it } from 'vitest'
import { clip } from './clip.ts'

describe('clipped text', () => {
  it('is left alone when it is short enough', () => expect(clip('four', 4)).toBe('four'))
  it('ends where it was cut, and says so', () => expect(clip('fives', 4)).toBe('five…'))
  it('never ends in half a character', () => expect(clip('wave \u{1f30a}', 6).isWellFormed()).toBe(true))
})

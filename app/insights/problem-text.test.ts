import { describe, expect, it } from 'vitest'
import { codeOf, problemText } from './problem-text.ts'

describe('what a page says of a failed question', () => {
  it('repeats what the server said', () => {
    const error = Object.assign(new Error('the store has not answered for 12 s'), { data: { code: 'unavailable' } })
    expect(codeOf(error)).toBe('unavailable')
    expect(problemText(error)).toBe('the store has not answered for 12 s')
  })

  it('says that nobody answered instead of what the browser says', () => {
    const error = Object.assign(new Error('Failed to fetch'), { data: undefined })
    expect(codeOf(error)).toBeUndefined()
    expect(problemText(error)).toMatch(/^Tidewatch does not answer/)
  })
})

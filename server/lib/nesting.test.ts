import { describe, expect, it } from 'vitest'
import { isNestedDeeper } from './nesting.ts'

const nested = (levels: number): unknown => JSON.parse(`${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`)

describe('nesting', () => {
  it('counts objects and lists alike', () => {
    expect(isNestedDeeper(nested(4), 4)).toBe(false)
    expect(isNestedDeeper(nested(4), 3)).toBe(true)
  })
  it('is none in what has no parts', () => {
    for (const plain of [null, 1, 'text', undefined]) expect(isNestedDeeper(plain, 0)).toBe(false)
  })
  it('takes no more of the stack than the bound, however deep it goes', () => {
    expect(isNestedDeeper(nested(200_000), 64)).toBe(true)
  })
})

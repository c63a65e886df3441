import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deepFreeze } from '../lib/deep-freeze.ts'
import { isCoreError } from '../lib/errors.ts'
import { fromStoredText, isSameStored, toStoredValue } from './json-value.ts'

const isDeeplyFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen))

describe('what is kept of a value', () => {
  it('is what JSON keeps of it, frozen, and nothing its giver still holds', () => {
    const given = { list: [1, { deep: -0 }], left: undefined, at: new Date(0), odd: Number.NaN }
    const stored = toStoredValue(given, 'spec')
    given.list.push(2)
    expect(stored.value).toEqual({ list: [1, { deep: 0 }], at: '1970-01-01T00:00:00.000Z', odd: null })
    expect(isDeeplyFrozen(stored.value)).toBe(true)
    expect(stored.value).toBe(stored.value)
  })

  it('is the value itself where nobody can change it any more', () => {
    const frozen = fromStoredText('{"a":[{"b":1}]}')
    expect(toStoredValue(frozen, 'spec').value).toBe(frozen)
    const shallow = Object.freeze({ list: ['x'] })
    const stored = toStoredValue(shallow, 'spec')
    shallow.list.push('y')
    expect(stored.value).toEqual({ list: ['x'] })
  })

  it('takes the parts that nobody can change as they are', () => {
    const part = fromStoredText('{"b":[1]}')
    const stored = toStoredValue({ part, own: { c: undefined, d: -0 } }, 'spec')
    expect((stored.value as { readonly part: unknown }).part).toBe(part)
    expect(stored.value).toEqual({ part: { b: [1] }, own: { d: 0 } })
    expect(isDeeplyFrozen(stored.value)).toBe(true)
  })

  it('keeps a field named __proto__ as a field', () => {
    const given: unknown = JSON.parse('{"a":{"__proto__":{"b":1}}}')
    const { a } = toStoredValue(given, 'spec').value as { readonly a: object }
    expect(Object.hasOwn(a, '__proto__')).toBe(true)
    expect(Object.getPrototypeOf(a)).toBe(Object.prototype)
  })

  it('is refused for what has no form in JSON', () => {
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    for (const value of [undefined, () => 1, 1n, circular]) {
      let code: unknown
      try {
        toStoredValue(value, 'spec')
      } catch (error) {
        code = isCoreError(error) ? error.code : error
      }
      expect(code).toBe('invalid')
    }
  })

  it('is the same whichever way any JSON value came, and the same as what was given', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.jsonValue().map(deepFreeze), fc.object()), (given) => {
        const stored = toStoredValue(given, 'spec')
        expect(stored.value).toEqual(fromStoredText(stored.text))
        expect(isDeeplyFrozen(stored.value)).toBe(true)
        expect(isSameStored(given, stored.value)).toBe(true)
      }),
    )
  })
})

describe('sameness of what is stored', () => {
  const same: readonly (readonly [unknown, unknown])[] = [
    [
      { a: 1, b: undefined, c: [{ d: undefined }] },
      { a: 1, c: [{}] },
    ],
    [{ a: -0 }, { a: 0 }],
    [{ a: Number.NaN }, { a: null }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [[undefined], [null]],
    [{ at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  ]
  const different: readonly (readonly [unknown, unknown])[] = [
    [{ a: 1 }, { a: 2 }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: null }, {}],
    [{ a: {} }, { a: [] }],
    [{ a: 1 }, { a: '1' }],
    [{ a: 1 }, { b: 1 }],
    [[1], [1, 2]],
    [null, {}],
  ]
  for (const [a, b] of same)
    it(`holds for ${JSON.stringify(a)} and ${JSON.stringify(b)}`, () =>
      expect([isSameStored(a, b), isSameStored(b, a)]).toEqual([true, true]))
  for (const [a, b] of different)
    it(`does not hold for ${JSON.stringify(a)} and ${JSON.stringify(b)}`, () =>
      expect([isSameStored(a, b), isSameStored(b, a)]).toEqual([false, false]))

  it('is sameness of text once both were stored', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (a, b) => {
        const sorted = (value: unknown) =>
          JSON.stringify(value, (_name, inner: unknown) =>
            typeof inner === 'object' && inner !== null && !Array.isArray(inner)
              ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => (x < y ? -1 : 1)))
              : inner,
          )
        expect(isSameStored(a, b)).toBe(sorted(a) === sorted(b))
      }),
    )
  })
})

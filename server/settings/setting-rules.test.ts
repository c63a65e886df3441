import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCoreError } from '../lib/errors.ts'
import { type TunableKey, type TunableSpec, tunables } from '../model/tunables.ts'
import type { SettingValue } from '../model/views.ts'
import { checkRelations, checkValue, problemOf, toTunableKey } from './setting-rules.ts'

const INTERVAL = 'sink.dataplane.flushIntervalMs'
const BACKOFF = 'sink.dataplane.flushBackoffMs'
const anyKey = fc.constantFrom(...(Object.keys(tunables) as TunableKey[]))

function refusalOf(check: () => void) {
  try {
    check()
  } catch (error) {
    if (isCoreError(error)) return error
    throw error
  }
  return undefined
}
const relationOf = (key: TunableKey, value: SettingValue, present: Partial<Record<TunableKey, SettingValue>>) =>
  refusalOf(() => checkRelations(key, value, (other) => present[other] ?? tunables[other].default))

describe('the name of a tunable', () => {
  it('is refused with those it may have meant when there is none', () => {
    const near = [INTERVAL, 'sink.dataplane.flushBackoffMs']
    const refusal = refusalOf(() => toTunableKey('sink.dataplan.flushInterval'))
    expect(refusal).toMatchObject({ code: 'not_found', details: { near: expect.arrayContaining(near) } })
    expect(refusal?.message).toMatch(new RegExp(`^there is no setting "sink.dataplan.flushInterval"; did you mean ${INTERVAL}, `))
  })

  it('is not what every object has', () => {
    for (const key of ['constructor', '__proto__', 'toString', '']) expect(refusalOf(() => toTunableKey(key))?.code).toBe('not_found')
  })
})

describe('the value of a tunable', () => {
  const refused: readonly (readonly [key: TunableKey, value: SettingValue, says: string])[] = [
    [INTERVAL, 99, `${INTERVAL} must be from 100 to 600000 ms; 99 is too small`],
    [INTERVAL, 600_001, `${INTERVAL} must be from 100 to 600000 ms; 600001 is too large`],
    [INTERVAL, 1000.5, `${INTERVAL} takes whole numbers from 100 to 600000 ms; 1000.5 is not one`],
    [INTERVAL, '5000', `${INTERVAL} takes a number from 100 to 600000 ms, not "5000"`],
    [INTERVAL, true, `${INTERVAL} takes a number from 100 to 600000 ms, not true`],
    [INTERVAL, NaN, `${INTERVAL} takes a number from 100 to 600000 ms, not NaN`],
    [BACKOFF, 'fast', `${BACKOFF} takes a number from 0 to 600000 ms or "auto", not "fast"`],
    [BACKOFF, -1, `${BACKOFF} must be from 0 to 600000 ms or "auto"; -1 is too small`],
    ['upsert.jitterPercent', 101, 'upsert.jitterPercent must be from 0 to 100 %; 101 is too large'],
    ['upsert.maxTimes', 101, 'upsert.maxTimes must be from 0 to 100; 101 is too large'],
  ]
  for (const [key, value, says] of refused) {
    it(`${String(value)} is refused for ${key} with what would be right`, () => {
      const refusal = refusalOf(() => checkValue(key, value))
      expect(refusal).toMatchObject({ code: 'invalid', message: says, details: { range: tunables[key].range } })
    })
  }

  it('may be the word a tunable knows', () => {
    expect(problemOf(BACKOFF, 'auto')).toBeUndefined()
    expect(problemOf(INTERVAL, 'auto')).toBeDefined()
  })

  it('is taken exactly when it is whole and in range', () => {
    fc.assert(
      fc.property(anyKey, fc.oneof(fc.integer(), fc.double()), (key, value) => {
        const { range }: TunableSpec = tunables[key]
        const isRight = range !== null && Number.isInteger(value) && value >= range.min && value <= range.max
        return (problemOf(key, value) === undefined) === isRight
      }),
    )
  })

  it('is right by default, for every tunable and every relation', () => {
    for (const [key, { default: initial }] of Object.entries(tunables)) {
      expect(problemOf(key as TunableKey, initial)).toBeUndefined()
      expect(relationOf(key as TunableKey, initial, {})).toBeUndefined()
    }
  })
})

describe('values that belong together', () => {
  it('keep the pause within the interval, whichever of the two is changed', () => {
    expect(relationOf(BACKOFF, 10_000, {})).toBeUndefined()
    expect(relationOf(BACKOFF, 10_001, {})).toMatchObject({
      code: 'invalid',
      details: { key: BACKOFF, value: 10_001, relation: { low: BACKOFF, high: INTERVAL }, range: { min: 0, max: 600_000 } },
    })
    expect(relationOf(INTERVAL, 1000, { [BACKOFF]: 2000 })?.message).toBe(
      `${BACKOFF} (2000) must not be above ${INTERVAL} (1000): the pause between two writes is part of the interval. Change ${BACKOFF} first, or choose at least 2000`,
    )
  })

  it('never keep an interval from a pause that follows it by itself', () => {
    fc.assert(fc.property(fc.integer({ min: 100, max: 600_000 }), (interval) => relationOf(INTERVAL, interval, {}) === undefined))
  })

  it('keep the first wait of a retry within the longest', () => {
    expect(relationOf('upsert.baseBackoffMs', 2001, {})?.message).toContain('choose at most 2000')
    expect(relationOf('upsert.maxBackoffMs', 199, {})?.message).toContain('choose at least 200')
    expect(relationOf('upsert.maxBackoffMs', 200, {})).toBeUndefined()
  })
})

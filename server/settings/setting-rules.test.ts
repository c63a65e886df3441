import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCoreError } from '../lib/errors.ts'
import { type SettingKey, type TunableKey, type TunableSpec, tunables } from '../model/tunables.ts'
import type { SettingValue } from '../model/views.ts'
import { specOf, toOverride, toSettingKey } from './setting-keys.ts'
import { checkRelations, checkValue, problemOf } from './setting-rules.ts'

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
const relationOf = (key: SettingKey, value: SettingValue, present: Partial<Record<SettingKey, SettingValue>>) => {
  const overriding = new Set(Object.keys(present).flatMap((other) => toOverride(other)?.link ?? []))
  return refusalOf(() =>
    checkRelations(key, value, { valueOf: (other) => present[other] ?? specOf(other).default, overriding: [...overriding] }),
  )
}
const toTunableKey = (key: string) => toSettingKey(key, [])

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

describe('the name of what a link has of its own', () => {
  it('is made of the link and the last part of the key, also where the link has dots and slashes', () => {
    expect(toSettingKey('link.pods.maxBackoffMs', ['pods'])).toBe('link.pods.maxBackoffMs')
    expect(toOverride('link.edge/v1.pods.idleTimeoutMs')).toEqual({ link: 'edge/v1.pods', of: 'watch.idleTimeoutMs' })
    for (const key of ['link.maxBackoffMs', 'link..maxBackoffMs', 'link.pods.rampPerSecond', 'link.pods.x', 'cache.ttlMs'])
      expect(toOverride(key)).toBeUndefined()
  })

  it('is refused for a link that is not there, and for what belongs to all, with what would be right', () => {
    const of = (key: string) => refusalOf(() => toSettingKey(key, ['pods', 'nodes']))?.message
    expect(of('link.pod.maxBackoffMs')).toBe('there is no link "pod" to have a setting "link.pod.maxBackoffMs"; there are: pods, nodes')
    expect(of('link.pods.probeBaseMs')).toContain('a link may have its own baseBackoffMs, factor, maxBackoffMs, jitter,')
    expect(refusalOf(() => toSettingKey('link.pod.factor', []))?.message).toContain('none is configured')
  })

  it('takes what the tunable takes, or "inherit"', () => {
    expect(problemOf('link.pods.jitter', false)).toBeUndefined()
    expect(problemOf('link.pods.jitter', 'inherit')).toBeUndefined()
    expect(problemOf('link.pods.jitter', 1)).toBe('link.pods.jitter takes true or false or "inherit", not 1')
    expect(problemOf('link.pods.factor', 1.5)).toBeUndefined()
    expect(problemOf('link.pods.factor', 0.5)).toBe('link.pods.factor must be from 1 to 10 or "inherit"; 0.5 is too small')
    expect(problemOf('link.pods.maxBackoffMs', 100.5)).toContain('takes whole numbers')
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
        const isWhole = tunables[key as 'link.factor'].fractional || Number.isInteger(value)
        const isRight = range !== null && isWhole && value >= range.min && value <= range.max
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

  it('keep the threshold of a link above its longest wait, and a silent watch apart from one within its server timeout', () => {
    expect(relationOf('link.maxBackoffMs', 44_999, {})).toBeUndefined()
    expect(relationOf('link.maxBackoffMs', 45_000, {})?.message).toBe(
      'link.maxBackoffMs (45000) must be below link.unhealthyAfterMs (45000): a link must have had its longest wait before it can be called unhealthy. Change link.unhealthyAfterMs first, or choose less than 45000',
    )
    expect(relationOf('watch.idleTimeoutMs', 290_000, {})?.message).toContain('choose more than 290000')
  })

  it('hold for what is in force for each link, whichever of the settings is changed', () => {
    expect(relationOf('link.pods.maxBackoffMs', 45_000, {})?.message).toContain(
      'link.pods.maxBackoffMs (45000) must be below link.unhealthyAfterMs (45000)',
    )
    expect(relationOf('link.pods.maxBackoffMs', 50_000, { 'link.pods.unhealthyAfterMs': 60_000 })).toBeUndefined()
    expect(relationOf('link.pods.unhealthyAfterMs', 'inherit', { 'link.pods.maxBackoffMs': 50_000 })?.details.relation).toEqual({
      low: 'link.pods.maxBackoffMs',
      high: 'link.unhealthyAfterMs',
    })
    const refusal = relationOf('link.unhealthyAfterMs', 35_000, { 'link.pods.maxBackoffMs': 40_000 })
    expect(refusal?.message).toContain('link.pods.maxBackoffMs (40000) must be below link.unhealthyAfterMs (35000)')
    expect(refusal?.message).toContain('Change link.pods.maxBackoffMs first, or choose more than 40000')
    expect(relationOf('link.unhealthyAfterMs', 35_000, { 'link.pods.maxBackoffMs': 'inherit' })).toBeUndefined()
  })
})

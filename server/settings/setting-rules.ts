import { CoreError } from '../lib/errors.ts'
import type { LinkTunableKey, SettingKey, TunableKey } from '../model/tunables.ts'
import type { SettingValue } from '../model/views.ts'
import { INHERIT, isTunableKey, overrideKey, specOf, toOverride } from './setting-keys.ts'

/** What is a valid value of a tunable: pure. Every refusal says what was wrong and what would be right. */

/** What is wrong with the value by itself, as one sentence with what would be right; undefined when it may be taken. */
export function problemOf(key: SettingKey, value: SettingValue): string | undefined {
  const spec = specOf(key)
  if (spec.word !== undefined && value === spec.word) return undefined
  const word = spec.word === undefined ? '' : ` or "${spec.word}"`
  if (spec.range === null) {
    return typeof value === 'boolean' ? undefined : `${key} takes true or false${word}, not ${quote(value)}`
  }
  const { min, max } = spec.range
  const range = `from ${min} to ${max}${spec.unit === 'ms' ? ' ms' : spec.unit === 'percent' ? ' %' : ''}${word}`
  if (typeof value !== 'number' || !Number.isFinite(value)) return `${key} takes a number ${range}, not ${quote(value)}`
  if (value < min || value > max) return `${key} must be ${range}; ${value} is too ${value < min ? 'small' : 'large'}`
  if (spec.fractional !== true && !Number.isInteger(value)) return `${key} takes whole numbers ${range}; ${value} is not one`
  return undefined
}

/** Throws `invalid` with details.range when the value is of the wrong kind or out of range. */
export function checkValue(key: SettingKey, value: SettingValue): void {
  const problem = problemOf(key, value)
  if (problem !== undefined) throw new CoreError('invalid', problem, { details: { key, value, range: specOf(key).range } })
}

interface Relation {
  readonly low: TunableKey
  readonly high: TunableKey
  /** They may not be equal either. */
  readonly strict?: true
  readonly because: string
}
const relations: readonly Relation[] = [
  {
    low: 'sink.dataplane.flushBackoffMs',
    high: 'sink.dataplane.flushIntervalMs',
    because: 'the pause between two writes is part of the interval',
  },
  { low: 'sink.zone.flushBackoffMs', high: 'sink.zone.flushIntervalMs', because: 'the pause between two writes is part of the interval' },
  { low: 'sink.mesh.minResyncMs', high: 'sink.mesh.fullResyncMs', because: 'a full look at all meshes takes one at each of them' },
  { low: 'upsert.baseBackoffMs', high: 'upsert.maxBackoffMs', because: 'no wait is longer than the cap' },
  { low: 'link.baseBackoffMs', high: 'link.maxBackoffMs', because: 'no wait is longer than the cap' },
  {
    low: 'link.maxBackoffMs',
    high: 'link.unhealthyAfterMs',
    strict: true,
    because: 'a link must have had its longest wait before it can be called unhealthy',
  },
  { low: 'link.probeBaseMs', high: 'link.probeMaxMs', because: 'no wait is longer than the cap' },
  {
    low: 'watch.serverTimeoutMs',
    high: 'watch.idleTimeoutMs',
    strict: true,
    because: 'a watch that is still within its server timeout is not half-open',
  },
]

/** What a change is held against. */
export interface PresentSettings {
  /** Of tunables and of what links have of their own. */
  readonly valueOf: (key: SettingKey) => SettingValue
  /** Links that have settings of their own: where they have none, they follow a change of all links. */
  readonly overriding: readonly string[]
}

/** Throws `invalid` when the value would be at odds with the present value of another setting. */
export function checkRelations(key: SettingKey, value: SettingValue, { valueOf, overriding }: PresentSettings): void {
  const changed = (other: SettingKey) => (other === key ? value : valueOf(other))
  const override = isTunableKey(key) ? undefined : toOverride(key)
  const of = override?.of ?? (key as TunableKey)
  for (const relation of relations) {
    if (of !== relation.low && of !== relation.high) continue
    if (override === undefined) check(relation, [relation.low, relation.high])
    for (const link of override === undefined ? overriding : [override.link])
      check(relation, [inForce(link, relation.low), inForce(link, relation.high)])
  }

  /** The setting that says it for this link. */
  function inForce(link: string, tunable: TunableKey): SettingKey {
    if (specOf(tunable).perLink !== true) return tunable
    const own = overrideKey(link, tunable as LinkTunableKey)
    return changed(own) === INHERIT ? tunable : own
  }

  function check({ strict, because }: Relation, [low, high]: readonly [low: SettingKey, high: SettingKey]): void {
    const lower = changed(low)
    const upper = changed(high)
    if (typeof lower !== 'number' || typeof upper !== 'number' || (strict === true ? lower < upper : lower <= upper)) return
    const isLow = key === low || (key !== high && of === specKeyOf(low))
    const other = isLow ? high : low
    const must = strict === true ? 'must be below' : 'must not be above'
    const bound = strict === true ? (isLow ? 'less than' : 'more than') : isLow ? 'at most' : 'at least'
    throw new CoreError(
      'invalid',
      `${low} (${lower}) ${must} ${high} (${upper}): ${because}. Change ${other} first, or choose ${bound} ${String(changed(other))}`,
      { details: { key, value, relation: { low, high }, range: specOf(key).range } },
    )
  }
}

function specKeyOf(key: SettingKey): TunableKey {
  return isTunableKey(key) ? key : toOverride(key)!.of
}

function quote(value: SettingValue): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

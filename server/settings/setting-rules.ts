import { CoreError } from '../lib/errors.ts'
import { type TunableKey, type TunableSpec, tunables } from '../model/tunables.ts'
import type { SettingValue } from '../model/views.ts'

/** What is a valid value of a tunable: pure. Every refusal says what was wrong and what would be right. */

export function isTunableKey(key: string): key is TunableKey {
  return Object.hasOwn(tunables, key)
}

/** The key as a tunable's, or `not_found` naming those it may have meant. */
export function toTunableKey(key: string): TunableKey {
  if (isTunableKey(key)) return key
  const near = Object.keys(tunables)
    .map((known) => ({ known, distance: distance(known.toLowerCase(), key.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ known }) => known)
  throw new CoreError('not_found', `there is no setting "${key}"; did you mean ${near.join(', ')}?`, { details: { key, near } })
}

/** What is wrong with the value by itself, as one sentence with what would be right; undefined when it may be taken. */
export function problemOf(key: TunableKey, value: SettingValue): string | undefined {
  const spec: TunableSpec = tunables[key]
  if (spec.word !== undefined && value === spec.word) return undefined
  const word = spec.word === undefined ? '' : ` or "${spec.word}"`
  if (spec.range === null) {
    return typeof value === typeof spec.default ? undefined : `${key} takes a ${typeof spec.default}${word}, not ${quote(value)}`
  }
  const { min, max } = spec.range
  const range = `from ${min} to ${max}${spec.unit === 'ms' ? ' ms' : spec.unit === 'percent' ? ' %' : ''}${word}`
  if (typeof value !== 'number' || !Number.isFinite(value)) return `${key} takes a number ${range}, not ${quote(value)}`
  if (value < min || value > max) return `${key} must be ${range}; ${value} is too ${value < min ? 'small' : 'large'}`
  if (!Number.isInteger(value)) return `${key} takes whole numbers ${range}; ${value} is not one`
  return undefined
}

/** Throws `invalid` with details.range when the value is of the wrong kind or out of range. */
export function checkValue(key: TunableKey, value: SettingValue): void {
  const problem = problemOf(key, value)
  if (problem !== undefined) throw new CoreError('invalid', problem, { details: { key, value, range: tunables[key].range } })
}

interface Relation {
  readonly low: TunableKey
  readonly high: TunableKey
  readonly because: string
}
const relations: readonly Relation[] = [
  {
    low: 'sink.dataplane.flushBackoffMs',
    high: 'sink.dataplane.flushIntervalMs',
    because: 'the pause between two writes is part of the interval',
  },
  { low: 'upsert.baseBackoffMs', high: 'upsert.maxBackoffMs', because: 'no wait is longer than the cap' },
]

/** Throws `invalid` when the value would be at odds with the present value of another tunable. */
export function checkRelations(key: TunableKey, value: SettingValue, valueOf: (key: TunableKey) => SettingValue): void {
  for (const { low, high, because } of relations) {
    if (key !== low && key !== high) continue
    const lower = key === low ? value : valueOf(low)
    const upper = key === high ? value : valueOf(high)
    if (typeof lower !== 'number' || typeof upper !== 'number' || lower <= upper) continue
    const other = key === low ? high : low
    throw new CoreError(
      'invalid',
      `${low} (${lower}) must not be above ${high} (${upper}): ${because}. Change ${other} first, or choose ${key === low ? 'at most' : 'at least'} ${valueOf(other)}`,
      {
        details: { key, value, relation: { low, high }, range: tunables[key].range },
      },
    )
  }
}

function quote(value: SettingValue): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

/** Edits from one text to the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}

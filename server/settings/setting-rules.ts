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

/** Throws `invalid` with details.range when the value is of the wrong kind or out of range. */
export function checkValue(key: TunableKey, value: SettingValue): void {
  const spec: TunableSpec = tunables[key]
  if (spec.word !== undefined && value === spec.word) return
  const word = spec.word === undefined ? '' : ` or "${spec.word}"`
  if (spec.range === null) {
    if (typeof value !== typeof spec.default) throw refused(`${key} takes a ${typeof spec.default}${word}, not ${JSON.stringify(value)}`)
    return
  }
  const { min, max } = spec.range
  const unit = spec.unit === 'ms' ? ' ms' : spec.unit === 'percent' ? ' %' : ''
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw refused(`${key} takes a number from ${min} to ${max}${unit}${word}, not ${JSON.stringify(value)}`)
  if (value < min || value > max)
    throw refused(`${key} must be from ${min} to ${max}${unit}${word}; ${value} is too ${value < min ? 'small' : 'large'}`)
  if (!Number.isInteger(value)) throw refused(`${key} takes whole numbers; ${value} is not one`)

  function refused(message: string) {
    return new CoreError('invalid', message, { details: { key, value, range: spec.range } })
  }
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

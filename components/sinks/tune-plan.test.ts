import { describe, expect, it } from 'vitest'
import type { ChangeRow, SettingRow } from '../../server/model/views.ts'
import { changedSince, toCurl, toDraft, type TuneBase, tunePlanOf } from './tune-plan.ts'

const row = (key: string, value: SettingRow['value'], range: SettingRow['range']): SettingRow => ({
  key,
  value,
  default: value,
  unit: 'ms',
  range,
  version: `version of ${key}`,
  description: '',
  modifiedAt: null,
  modifiedBy: null,
})
const base: TuneBase = {
  interval: row('interval', 10_000, { min: 100, max: 600_000 }),
  backoff: row('backoff', 'auto', { min: 0, max: 600_000 }),
}
const draft = toDraft(base)

describe('what Apply does', () => {
  it('is nothing while nothing is changed', () => {
    expect(draft).toEqual({ interval: '10 s', isBackoffAuto: true, backoff: '1 s', reason: '' })
    expect(tunePlanOf(base, draft)).toEqual({ kind: 'unchanged' })
    expect(tunePlanOf(base, { ...draft, interval: '10000 ms', reason: 'no reason' })).toEqual({ kind: 'unchanged' })
  })

  it('is one edit of the version that was read', () => {
    expect(tunePlanOf(base, { ...draft, interval: '4', reason: ' rush hour ' })).toEqual({
      kind: 'edits',
      intervalMs: 4_000,
      edits: [{ key: 'interval', value: 4_000, expectedVersion: 'version of interval', reason: 'rush hour' }],
    })
  })

  it('is the interval alone where a sink has no backoff', () => {
    const alone = { ...base, backoff: undefined }
    expect(tunePlanOf(alone, { ...toDraft(alone), interval: '2 s' })).toMatchObject({
      kind: 'edits',
      edits: [{ key: 'interval', value: 2_000 }],
    })
  })

  it.each([
    ['1 s', '0.5 s', ['backoff', 'interval']],
    ['20 s', '15 s', ['interval', 'backoff']],
  ])('goes to %s with backoff %s in the order that keeps the backoff within the interval', (interval, backoff, keys) => {
    const plan = tunePlanOf(
      { ...base, backoff: row('backoff', 8_000, { min: 0, max: 600_000 }) },
      { ...draft, isBackoffAuto: false, interval, backoff },
    )
    expect(plan.kind === 'edits' && plan.edits.map(({ key }) => key)).toEqual(keys)
  })

  it('is refused with the allowed range at the field', () => {
    expect(tunePlanOf(base, { ...draft, interval: '20 min' })).toEqual({ kind: 'invalid', interval: 'Allowed is 100 ms to 10 min.' })
    expect(tunePlanOf(base, { ...draft, interval: 'soon' })).toEqual({
      kind: 'invalid',
      interval: 'A time is needed, like 4 s, 500 ms or 2 min.',
    })
    expect(tunePlanOf(base, { ...draft, isBackoffAuto: false, backoff: '11 s' })).toEqual({
      kind: 'invalid',
      backoff: 'At most the interval: the pause is part of it.',
    })
  })
})

describe('what was changed since the form was opened', () => {
  const change = (key: string, version: string, at: number): ChangeRow => ({
    changeId: `${key} ${version}`,
    key,
    at,
    by: 'operator-2',
    from: 1,
    to: 2,
    reason: null,
    version,
    effect: null,
  })
  const opened: TuneBase = { ...base, interval: { ...base.interval, version: 'v5', modifiedAt: 500 } }

  it('is nothing while the newest change of each setting is the one that was read', () => {
    expect(changedSince(base, [])).toBeUndefined()
    expect(
      changedSince(opened, [change('another', 'v9', 900), change('interval', 'v5', 500), change('interval', 'v4', 400)]),
    ).toBeUndefined()
  })

  it('is the newest of what the form edits', () => {
    const [newest, older] = [change('backoff', 'v7', 700), change('interval', 'v6', 600)]
    expect(changedSince(opened, [newest, older, change('interval', 'v5', 500)])).toBe(newest)
    expect(changedSince(opened, [older])).toBe(older)
  })

  it('is not a change that a list read earlier still ends with', () => {
    expect(changedSince(opened, [change('interval', 'v4', 400)])).toBeUndefined()
  })
})

it('the command line survives a quote in the reason', () => {
  expect(toCurl('http://localhost:7400', { key: 'k', value: 1, expectedVersion: '0', reason: "Ada's" })).toBe(
    String.raw`curl -s http://localhost:7400/api/trpc/settings.apply -H 'content-type: application/json' -d '{"key":"k","value":1,"expectedVersion":"0","reason":"Ada'\''s"}'`,
  )
})

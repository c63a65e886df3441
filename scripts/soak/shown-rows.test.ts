import { describe, expect, it } from 'vitest'
import type { InsightRow } from '../../server/model/views.ts'
import { differencesOf, type ShownRows } from './shown-rows.ts'

const NOW = 1_000_000

function stored(name: string, changes: Partial<InsightRow> = {}): InsightRow {
  return {
    key: { type: 'DataplaneInsight', mesh: 'default', name },
    subject: { type: 'Dataplane', mesh: 'default', name },
    source: null,
    online: true,
    freshness: 'fresh',
    pendingMs: 0,
    heartbeatAgeMs: 0,
    pendingSince: null,
    heartbeatAt: NOW,
    cadenceMs: 1_000,
    heartbeatMs: 150_000,
    version: '7',
    writer: 'control-plane',
    modifiedAt: NOW - 30_000,
    offlineSince: null,
    conflicts: { benign: 2, harmful: 0 },
    nacked: [],
    complaints: [],
    contenders: [],
    ...changes,
  }
}

function shown(names: readonly string[], changes: Readonly<Record<string, string>> = {}): ShownRows {
  const rows = names.map((subject, index) => ({
    place: index + 1,
    texts: {
      freshness: 'fresh',
      subject,
      mesh: 'default',
      lastWrite: '30 s ago',
      conflicts: '2',
      rejects: '–',
      writer: 'control-plane',
      ...changes,
    },
  }))
  return { total: names.length, rows }
}

describe('what an open page shows against what is stored', () => {
  it('finds nothing where they are the same', () => {
    expect(differencesOf(shown(['a', 'b']), [stored('a'), stored('b')], NOW)).toEqual([])
  })

  it('compares a window of a long list with the rows of its places', () => {
    const window = { ...shown(['a']), total: 2 }
    expect(differencesOf(window, [stored('a'), stored('b')], NOW)).toEqual([])
  })

  it.each([
    ['a level of before', [stored('a', { online: false })], 'freshness of row 1 is "fresh", stored "offline" (a)'],
    ['a version of before', [stored('a', { modifiedAt: NOW })], 'lastWrite of row 1 is "30 s ago", stored "<1 s ago" (a)'],
    ['another writer', [stored('a', { writer: 'other' })], 'writer of row 1 is "control-plane", stored "other" (a)'],
    [
      'conflicts of before',
      [stored('a', { conflicts: { benign: 2, harmful: 1 } })],
      'conflicts of row 1 is "2", stored "1 / 2 harmful / benign" (a)',
    ],
    ['a rejection it missed', [stored('a', { nacked: ['Cluster'] })], 'rejects of row 1 is "–", stored "Cluster" (a)'],
    ['another order', [stored('b')], 'subject of row 1 is "a", stored "b" (b)'],
    ['a row that has gone', [], 'a is in row 1, stored are 0'],
    ['a row it lacks', [stored('a'), stored('b')], '1 rows in all, stored 2'],
  ])('finds %s', (_what, rows, difference) => {
    expect(differencesOf(shown(['a']), rows, NOW)).toContain(difference)
  })

  it('finds a hole in the window, and a page without rows', () => {
    const { rows } = shown(['a', 'b', 'c'])
    const all = ['a', 'b', 'c'].map((name) => stored(name))
    expect(differencesOf({ total: 3, rows: rows.filter(({ place }) => place !== 2) }, all, NOW)).toEqual(['row 2 is missing'])
    expect(differencesOf({ total: 3, rows: [] }, all, NOW)).toEqual(['no rows'])
  })
})

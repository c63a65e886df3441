import { describe, expect, it } from 'vitest'
import type { LinkRow } from '../../server/model/link-row.ts'
import { laneBars, laneText } from './lane.ts'
import { linkCsv } from './link-csv.ts'
import { countsText, fits, stateNote, stateText, toneOf } from './link-words.ts'

const NOW = 10_000_000
const value = <T>(of: T) => ({ value: of, overridden: false })
const link = (over: Partial<LinkRow> = {}): LinkRow => ({
  id: 'edge/nodes',
  kind: 'watch',
  endpoint: 'https://edge:6443',
  subject: 'v1 Node',
  health: 'healthy',
  healthSince: 0,
  state: { kind: 'live' },
  stateSince: NOW - 60_000,
  probing: false,
  waitingFor: null,
  pausedBy: null,
  pauseReason: null,
  lastError: null,
  withoutSuccessSince: null,
  lastEventAt: NOW - 2_000,
  lastBookmarkAt: null,
  eventsPerSecond: 1,
  eventLagMs: null,
  objects: 3,
  bad: { count: 0, last: null },
  relists: { start: 1 },
  requests: { 200: 2 },
  reconnects: {},
  policy: {
    baseBackoffMs: value(800),
    factor: value(2),
    maxBackoffMs: value(30_000),
    jitter: value(true),
    resetAfterMs: value(120_000),
    unhealthyAfterMs: value(45_000),
  },
  history: [],
  ...over,
})
const error = { class: 'forbidden', message: 'may not list nodes', hint: 'rules: []', at: NOW, since: NOW - 9_000 } as const

describe('a link in words', () => {
  const table: readonly (readonly [what: string, link: Partial<LinkRow>, badge: string, note: string, tone: string])[] = [
    ['live', {}, 'live for 1 min', 'event 2 s ago', 'good'],
    ['live and quiet', { lastBookmarkAt: NOW - 1_000 }, 'live for 1 min', 'sign of life 1 s ago', 'good'],
    [
      'waiting',
      { state: { kind: 'waiting', attempt: 4, until: NOW + 12_000, cause: 'forbidden' }, health: 'degraded', lastError: error },
      'attempt 4, next in 12 s',
      'forbidden: may not list nodes',
      'warn',
    ],
    [
      'probing',
      {
        state: { kind: 'waiting', attempt: 9, until: NOW + 3_000 },
        probing: true,
        lastError: { ...error, class: 'network', message: 'refused' },
      },
      'probe 9, next in 3 s',
      'network: refused',
      'warn',
    ],
    [
      'waiting for another’s probe',
      { state: { kind: 'waiting' }, waitingFor: { endpoint: 'https://edge:6443', prober: 'edge/leases', probeAt: NOW + 3_000 } },
      'waiting for the probe of edge:6443',
      'edge/leases probes, next in 3 s',
      'warn',
    ],
    ['paused', { state: { kind: 'paused' }, pausedBy: 'ada', pauseReason: 'rotating' }, 'paused by ada', 'for 1 min, “rotating”', 'quiet'],
    ['reading', { state: { kind: 'syncing' }, lastEventAt: null }, 'reading everything', 'nothing has come yet', 'info'],
  ]
  for (const [what, over, badge, note, tone] of table)
    it(`that is ${what} says so`, () => {
      const row = link(over)
      expect([stateText(row, NOW), stateNote(row, NOW), toneOf(row)]).toEqual([badge, note, tone])
    })

  it('is found by what it does', () => {
    expect(fits(link({ health: 'unhealthy' }), 'trouble')).toBe(true)
    expect(fits(link(), 'trouble')).toBe(false)
    expect(fits(link({ state: { kind: 'connecting' } }), 'waiting')).toBe(true)
    expect(countsText({ start: 1, no_version: 2, gone: 0 })).toBe('start 1 · no version 2')
    expect(countsText({})).toBeNull()
  })

  it('is a line of a CSV', () => {
    expect(linkCsv([link({ subject: 'a, b' })]).split('\r\n')[1]).toBe(
      'edge/nodes,watch,https://edge:6443,"a, b",live,1970-01-01T02:45:40.000Z,,,,,healthy,,,1970-01-01T02:46:38.000Z,,1,,3,start 1,200 2',
    )
  })
})

describe('the last hour', () => {
  const minute = 60_000
  it('is drawn as it was spent, from the moment something is known', () => {
    const history = [
      { at: NOW - 120 * minute, lane: 'live' as const },
      { at: NOW - 30 * minute, lane: 'waiting' as const },
      { at: NOW - 15 * minute, lane: 'live' as const },
    ]
    expect(laneBars(history, NOW)).toEqual([
      { lane: 'live', from: 0, width: 50 },
      { lane: 'waiting', from: 50, width: 25 },
      { lane: 'live', from: 75, width: 25 },
    ])
    expect(laneText(history, NOW)).toBe('last hour: live 75 %, waiting 25 %')
    expect(laneText([], NOW)).toBe('nothing is known of the last hour')
  })
})

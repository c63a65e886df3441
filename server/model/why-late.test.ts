import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Subscription } from './insight.ts'
import type { Version } from './resource.ts'
import type { InsightRow, WriteRecord } from './views.ts'
import { type LatenessEvidence, whyLate } from './why-late.ts'

const NOW = Date.UTC(2026, 0, 1)
const SECOND = 1_000
const MINUTE = 60 * SECOND

function why(row: Partial<InsightRow>, evidence: Partial<LatenessEvidence> = {}): string | null {
  return whyLate(
    {
      row: {
        key: { type: 'DataplaneInsight', mesh: 'default', name: 'web-1' },
        subject: { type: 'Dataplane', mesh: 'default', name: 'web-1' },
        source: null,
        online: true,
        freshness: 'fresh',
        pendingMs: 0,
        heartbeatAgeMs: 0,
        pendingSince: null,
        heartbeatAt: NOW,
        cadenceMs: 10 * SECOND,
        heartbeatMs: 150 * SECOND,
        version: '1',
        writer: 'dataplane-sink',
        modifiedAt: NOW,
        offlineSince: null,
        conflicts: { benign: 0, harmful: 0 },
        nacked: [],
        complaints: [],
        contenders: [],
        ...row,
      },
      subscriptions: [],
      mtls: null,
      writes: [],
      note: null,
      content: null,
      nextFlushAt: null,
      storeProblem: null,
      ...evidence,
    },
    NOW,
  )
}

const write = (writer: string, outcome: WriteRecord['outcome'], winner?: string): WriteRecord => ({
  at: NOW,
  writer,
  instance: 'i-1',
  version: '1',
  outcome,
  ...(winner !== undefined && { lostTo: { writer: winner, instance: 'i-1', version: '2' as Version, at: NOW, certainty: 'exact' } }),
})
const lost = (winner: string) => write('dataplane-sink', 'conflict', winner)
const behind = { pendingSince: NOW - 38 * SECOND }

function subscription(changes: Partial<Subscription>): Subscription {
  return { id: 's', instance: 'i-1', variant: 'sotw', connectedAt: 0, generation: 1, types: {}, ...changes }
}

describe('whyLate', () => {
  it('has nothing to say of what is fresh and quiet', () => {
    expect(why({})).toBeNull()
  })

  it('names who its writes lost to, and how many in a row', () => {
    const writes = [write('dataplane-sink', 'written'), lost('identity'), write('identity', 'written'), lost('identity'), lost('identity')]
    expect(why(behind, { writes })).toBe('38 s behind: its last three writes lost to identity.')
    expect(why(behind, { writes: [lost('identity')] })).toBe('38 s behind: its last write lost to identity.')
    expect(why(behind, { writes: [lost('identity'), lost('lifecycle')] })).toBe(
      '38 s behind: its last two writes lost to identity and lifecycle.',
    )
  })

  it('does not blame a conflict that the next write has made good', () => {
    const writes = [lost('identity'), write('dataplane-sink', 'written')]
    expect(why(behind, { writes, nextFlushAt: NOW + 2 * SECOND })).toBe(
      '38 s behind: it should be written every 10 s, and its next flush is due in 2 s.',
    )
  })

  it('names a store that does not answer before anything that follows from it', () => {
    const storeProblem = { message: 'disk full', since: NOW - 31 * SECOND }
    expect(why(behind, { storeProblem, writes: [lost('identity')] })).toBe('38 s behind: the store has not answered for 31 s (disk full).')
  })

  it('says when nobody here will flush it', () => {
    expect(why(behind)).toBe('38 s behind: no flush of it is planned on this instance.')
  })

  it('tells a dead sink by its generation', () => {
    expect(why({ heartbeatAt: NOW - 9 * MINUTE })).toBe(
      'Its sink has not moved its generation for 9 min: it should every 2.5 min, so whoever holds its stream has stopped or cannot write.',
    )
  })

  it('says what its peer rejects, since when and why', () => {
    const rejection = { reason: 'listener  "x":\nbad port', since: NOW - 3 * MINUTE }
    const type = { sent: 2, acked: 0, nacked: 2, lastAt: NOW, rejection }
    expect(why({ nacked: ['LDS'] }, { subscriptions: [subscription({ types: { LDS: type } })] })).toBe(
      'Has rejected LDS for 3 min: listener "x": bad port.',
    )
    expect(why({ nacked: ['CDS', 'LDS'] })).toBe('Rejects CDS and LDS.')
  })

  it('calms where a change only waits for its turn', () => {
    const waiting = { pendingSince: NOW - 2 * SECOND }
    expect(why(waiting, { nextFlushAt: NOW + 8 * SECOND })).toBe('Waiting for its next flush, due in 8 s, within the cadence.')
    expect(why(waiting, { nextFlushAt: NOW })).toBe('Waiting for its next flush, due now, within the cadence.')
    expect(why(waiting)).toBe('Waiting for its next flush, within the cadence.')
    expect(why(waiting, { nextFlushAt: NOW + 800, writes: [lost('identity')] })).toBe(
      'Waiting for its next flush, due in 0.8 s: its last write lost to identity.',
    )
  })

  it('tells of what is disconnected and of what was never stored', () => {
    expect(why({ online: false, offlineSince: NOW - 130 * MINUTE })).toBe('Its data plane disconnected 2 h 10 min ago.')
    expect(why({ online: false, ...behind })).toBe('Its data plane disconnected; its last status is not stored yet.')
    expect(why({ heartbeatAt: 0 }, { nextFlushAt: NOW })).toBe('Nothing of it is stored yet: its first flush is due now.')
  })

  it('is one sentence, with nothing undefined in it, whatever the evidence', () => {
    const moment = fc.integer({ min: NOW - 1e9, max: NOW + 1e9 })
    const evidence = fc.record({
      online: fc.boolean(),
      offlineSince: fc.option(moment),
      pendingSince: fc.option(moment),
      heartbeatAt: fc.oneof(moment, fc.constant(0)),
      nextFlushAt: fc.option(moment),
      nacked: fc.subarray(['CDS', 'LDS', 'RDS']),
      writes: fc.array(fc.constantFrom(lost('identity'), write('dataplane-sink', 'conflict'), write('dataplane-sink', 'written'))),
    })
    fc.assert(
      fc.property(evidence, ({ nextFlushAt, writes, ...row }) => {
        const sentence = why(row, { nextFlushAt, writes }) ?? 'Quiet.'
        expect(sentence).toMatch(/^[A-Z0-9].*[.…]$/)
        expect(sentence).not.toMatch(/undefined|NaN|null|-\d|\n/)
      }),
    )
  })
})

describe('of what a link sees elsewhere', () => {
  const observed = { source: 'edge-leases', subject: { type: 'Lease', mesh: '', name: 'n-1' } }

  it('tells how late it is there, and what its source says besides, but no flush of ours', () => {
    expect(why({ ...observed, heartbeatAt: NOW - 400 * SECOND })).toBe('Not renewed for 6.7 min: it should be every 2.5 min.')
    expect(why({ ...observed, pendingSince: NOW - 20 * SECOND }, { note: 'Two managers write its status in turn' })).toBe(
      '20 s behind: its status should follow within 10 s. Two managers write its status in turn.',
    )
    expect(why({ ...observed, heartbeatAt: 0 })).toBe('How old it is cannot be told: edge-leases has shown no sign of life of it.')
  })

  it('is silent when all is well and nothing is to be said', () => {
    expect(why(observed)).toBeNull()
    expect(why(observed, { note: 'Written by kubelet.' })).toBe('Written by kubelet.')
  })
})

import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createCounters } from './counters.ts'

describe('the counters', () => {
  it('are computed once for all who ask within a fifth of a second', async () => {
    const clock = createFakeClock()
    let computed = 0
    const counters = createCounters({
      clock,
      board: {
        summary: () => ({}),
        strips: () => [],
        rejecting: () => ++computed,
        total: () => 3,
        revision: () => 9,
        membersRevision: () => 4,
      },
      conflicts: { matrix: () => [], recent: () => [] },
      sessions: { size: () => 2, list: () => [] },
      links: { counts: () => 'the links' as never },
      eventLoopLag: { read: () => ({ p50: 1, p99: 2 }) },
      interruptions: { recent: () => ({ kind: 'stopped', endedAt: 7, ms: 6_000 }) },
      readers: { read: () => ({ stalled: 1, dropped: 2 }) },
      store: { problem: () => ({ message: 'disk full', since: 5 }), slow: () => ({ commitMs: 300, since: 6 }) },
      sinks: () => [],
    })
    const first = counters()
    expect(first).toEqual({
      summary: {},
      strips: [],
      sinks: [],
      conflicts: { cells: [], recent: [] },
      sessions: { xds: 2, kds: 2 },
      zones: { online: 0, syncing: 0, rejecting: 0 },
      links: 'the links',
      rejecting: 1,
      eventLoopLagMs: { p50: 1, p99: 2 },
      storeProblem: { message: 'disk full', since: 5 },
      storeSlow: { commitMs: 300, since: 6 },
      readers: { stalled: 1, dropped: 2 },
      interruption: { kind: 'stopped', endedAt: 7, ms: 6_000 },
      insightsTotal: 3,
      insightsRevision: 9,
      insightsMembersRevision: 4,
    })
    await clock.advance(199)
    expect(counters()).toBe(first)
    await clock.advance(1)
    expect(counters()).not.toBe(first)
    // A clock set back does not freeze them.
    clock.jump(-3_600_000)
    await clock.advance(200)
    expect(counters().rejecting).toBe(3)
  })
})

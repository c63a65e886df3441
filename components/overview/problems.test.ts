import { describe, expect, it } from 'vitest'
import type { Counters, FreshnessStrip, SinkRow } from '../../server/model/views.ts'
import { problemsOf } from './problems.ts'

const sink = (lastError: SinkRow['lastError']) => ({ name: 'dataplane', lastError }) as SinkRow
const strip = (stale: number, oldestPendingMs: number): FreshnessStrip => ({
  type: 'DataplaneInsight',
  cadenceMs: 10_000,
  counts: { fresh: 100, late: 3, stale, offline: 2, unknown: 0 },
  buckets: [],
  oldestPendingMs,
})
const well = {
  storeProblem: null,
  sinks: [sink(null)],
  strips: [strip(0, 4_000)],
  eventLoopLagMs: { p50: 1, p99: 12 },
  rejecting: 3,
} as unknown as Counters
const titles = (change: Partial<Counters>) => problemsOf({ ...well, ...change }).map(({ title }) => title)

describe('problems', () => {
  it('there are none when all is well: some late, offline or rejecting are not one', () => expect(problemsOf(well)).toEqual([]))

  it('name what is wrong, the gravest first', () => {
    expect(
      titles({
        storeProblem: { message: 'database is locked', since: 5 },
        sinks: [sink({ message: 'disk I/O error', at: 6 })],
        strips: [strip(1, 48_000)],
        eventLoopLagMs: { p50: 3, p99: 450 },
      }),
    ).toEqual([
      'The store does not answer, so nothing is written',
      'The dataplane sink fails to write',
      '1 DataplaneInsight is stale',
      'The event loop is up to 450 ms late',
    ])
  })

  it('tell a change that waits from a heartbeat that stands still', () => {
    const [waiting] = problemsOf({ ...well, strips: [strip(9, 48_000)] })
    expect(waiting).toMatchObject({
      title: '9 DataplaneInsights are stale',
      evidence: 'The oldest change has waited 48 s where one is due every 10 s.',
      link: { to: { page: 'insights', freshness: 'stale' } },
    })
    const [still] = problemsOf({ ...well, strips: [strip(9, 2_000)] })
    expect(still?.evidence).toBe('Their heartbeat has not moved for three times its cadence.')
  })
})

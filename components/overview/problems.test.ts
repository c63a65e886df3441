import { describe, expect, it } from 'vitest'
import type { LinkCounts } from '../../server/model/link-row.ts'
import type { Counters, FreshnessStrip, SinkRow } from '../../server/model/views.ts'
import { problemsOf } from './problems.ts'

const well: Pick<
  Counters,
  'storeProblem' | 'storeSlow' | 'sinks' | 'strips' | 'links' | 'zones' | 'eventLoopLagMs' | 'interruption' | 'readers'
> = {
  storeProblem: null,
  storeSlow: null,
  interruption: null,
  readers: { stalled: 0, dropped: 0 },
  sinks: [{ name: 'dataplane', lastError: null } as SinkRow],
  strips: [strip({})],
  links: links({}, null),
  zones: { online: 2, syncing: 0, rejecting: 0 },
  eventLoopLagMs: { p50: 1, p99: 12 },
}
const problems = (wrong: Partial<typeof well>) => {
  const counters = countersOf(wrong)
  return problemsOf(counters, counters.strips)
}

function countersOf(wrong: Partial<typeof well>): Counters {
  const { strips, ...others } = { ...well, ...wrong }
  return { ...others, strips, summary: Object.fromEntries(strips.map(({ type, counts }) => [type, counts])) } as unknown as Counters
}

function links(byHealth: Partial<LinkCounts['byHealth']>, worst: LinkCounts['worst']): LinkCounts {
  return { total: 7, byHealth: { healthy: 7, degraded: 0, unhealthy: 0, paused: 0, ...byHealth }, worst } as LinkCounts
}

function strip(wrong: Partial<FreshnessStrip['counts']>, oldestPendingMs = 0): FreshnessStrip {
  const counts = { fresh: 9, late: 0, stale: 0, offline: 0, unknown: 0, ...wrong }
  return { type: 'DataplaneInsight', cadenceMs: 10_000, cadenceMaxMs: 10_000, counts, buckets: [], oldestPendingMs }
}

describe('what is wrong', () => {
  it('is nothing when all is well, and nothing for what is late, offline or not yet flushed', () => {
    expect(problems({})).toEqual([])
    expect(problems({ strips: [strip({ late: 3, offline: 2, unknown: 1 })] })).toEqual([])
  })

  it('is told from the gravest on', () => {
    const all = problems({
      storeProblem: { message: 'the disk is full', since: 42 },
      sinks: [{ name: 'dataplane', lastError: { message: 'timed out', at: 43 } } as SinkRow],
      strips: [strip({ stale: 1 }, 48_000)],
      eventLoopLagMs: { p50: 1, p99: 350 },
    })
    expect(all.map(({ title }) => title)).toEqual([
      'The store does not answer, so nothing is written',
      'The dataplane sink fails to write',
      '1 DataplaneInsight is stale',
      'The event loop is up to 350 ms late',
    ])
    expect(all.map(({ since }) => since)).toEqual([42, 43, null, null])
    expect(all.map(({ severity }) => severity)).toEqual(['bad', 'bad', 'bad', 'warn'])
  })

  it('says whether changes wait or a heartbeat is missing', () => {
    expect(problems({ strips: [strip({ stale: 2 }, 48_000)] })[0]?.evidence).toBe(
      'The oldest change has waited 48 s where one is due every 10 s.',
    )
    expect(problems({ strips: [strip({ stale: 2 }, 2_000)] })[0]?.evidence).toBe(
      'Their heartbeat has not moved for three times its cadence.',
    )
  })

  it('names the link that is worst off, with why, and whether somebody has to act', () => {
    const forbidden = { class: 'forbidden', message: 'pods is forbidden.', hint: '', at: 1, since: 1 } as const
    const degraded = { id: 'pods', health: 'degraded', withoutSuccessSince: 42, lastError: forbidden } as const
    expect(problems({ links: links({ degraded: 1 }, degraded) })).toMatchObject([
      {
        title: 'The link pods is degraded',
        evidence: 'forbidden: pods is forbidden. It is tried again, but somebody has to act.',
        since: 42,
      },
    ])
    const unhealthy = { id: 'edge/nodes', health: 'unhealthy', withoutSuccessSince: 43, lastError: null } as const
    expect(problems({ links: links({ unhealthy: 3 }, unhealthy) })).toMatchObject([
      { title: '3 of 7 links are in trouble, edge/nodes above all', evidence: 'its endpoint is down. It is tried again until it works.' },
    ])
  })

  it('is counted without its evidence too', () => {
    expect(problemsOf(countersOf({ strips: [strip({ stale: 2 }, 48_000)] }))).toHaveLength(1)
  })

  it('leads to the insights of that level', () => {
    expect(problems({ strips: [strip({ stale: 2 })] })[0]?.link?.to).toEqual({ page: 'insights', freshness: 'stale' })
  })

  it('is a zone that does not take all that is sent, with the way to what it is', () => {
    expect(problems({ zones: { online: 2, syncing: 0, rejecting: 1 } })).toMatchObject([
      { id: 'zones', severity: 'warn', title: '1 zone does not take all that is sent', link: { to: { page: 'streams' } } },
    ])
  })

  it('is a slow disk, unless the store does not answer at all', () => {
    const storeSlow = { commitMs: 310, since: 44 }
    expect(problems({ storeSlow })).toMatchObject([{ title: 'The disk is slow: a commit takes 310 ms', severity: 'warn', since: 44 }])
    expect(problems({ storeSlow, storeProblem: { message: 'the disk is full', since: 42 } }).map(({ id }) => id)).toEqual(['store'])
  })

  it.each([
    ['stopped', 6_000, 'This process did not run for 6 s'],
    ['blocked', 2_500, 'Something in this process took 2.5 s in one go'],
    ['clock_set', 3_600_000, 'The clock of this machine moved on by 1 h'],
    ['clock_set', -3_600_000, 'The clock of this machine moved back by 1 h'],
  ] as const)('is told of the whole process: %s %d', (kind, ms, title) => {
    expect(problems({ interruption: { kind, ms, endedAt: 45 } })).toMatchObject([{ title, severity: 'warn', since: 45 }])
  })

  it('is told of readers that do not keep up or were dropped', () => {
    const titleOf = (stalled: number, dropped: number) => problems({ readers: { stalled, dropped } })[0]?.title
    expect(titleOf(1, 0)).toBe('1 page or script cannot keep up')
    expect(titleOf(0, 2)).toBe('2 clients dropped in the last minute')
    expect(titleOf(2, 1)).toBe('2 pages or scripts cannot keep up, 1 client dropped in the last minute')
  })

  it('is told once when the store does not answer, not again with each sink that hears the same', () => {
    const message = 'the disk is full'
    const sinks = [{ name: 'dataplane', lastError: { message, at: 43 } } as SinkRow]
    expect(problems({ storeProblem: { message, since: 42 }, sinks }).map(({ id }) => id)).toEqual(['store'])
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { freshnessAt } from '../../server/model/freshness.ts'
import { tideLines, tideMarkAt } from './tide-geometry.ts'

const facts = { online: true, pendingSince: null, heartbeatAt: 1_000_000, cadenceMs: 10_000, heartbeatMs: 150_000 }

describe('tide bar', () => {
  it('has its lines at 1.5 and 3 of 4 cadences', () => {
    expect(tideLines).toEqual([37.5, 75])
  })

  it('shows how long the oldest change waits, against the interval', () => {
    expect(tideMarkAt({ ...facts, heartbeatAt: 1_020_000, pendingSince: 1_000_000 }, 1_020_000)).toEqual({
      percent: 50,
      lateness: 2,
      by: 'pending',
      ageMs: 20_000,
      cadenceMs: 10_000,
    })
  })

  it('shows an overdue heartbeat when that is worse, so that a dead sink is seen on quiet rows', () => {
    expect(tideMarkAt({ ...facts, pendingSince: 1_599_000 }, 1_600_000)).toMatchObject({
      by: 'heartbeat',
      ageMs: 600_000,
      cadenceMs: 150_000,
      lateness: 4,
      percent: 100,
    })
  })

  it('is empty just after a write and never runs over its end', () => {
    expect(tideMarkAt(facts, 1_000_000)).toMatchObject({ percent: 0, by: 'heartbeat' })
    expect(tideMarkAt({ ...facts, pendingSince: 1_000_000 }, 9_000_000).percent).toBe(100)
  })

  it('is past a line exactly when the row has that level', () => {
    const moments = fc.record({
      pendingSince: fc.option(fc.integer({ min: 0, max: 1_000_000 })),
      heartbeatAt: fc.integer({ min: 1, max: 1_000_000 }),
      cadenceMs: fc.integer({ min: 100, max: 600_000 }),
      heartbeatMs: fc.integer({ min: 100, max: 600_000 }),
    })
    fc.assert(
      fc.property(moments, fc.integer({ min: 1_000_000, max: 5_000_000 }), (moment, now) => {
        const row = { ...moment, online: true }
        const { percent } = tideMarkAt(row, now)
        const [late = 0, stale = 0] = tideLines
        expect(percent).toBeLessThanOrEqual(100)
        expect(percent <= late ? 'fresh' : percent <= stale ? 'late' : 'stale').toBe(freshnessAt(row, now))
      }),
    )
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Freshness,
  type FreshnessFacts,
  freshnessAt,
  heartbeatAgeMsAt,
  LATE_ABOVE,
  latenessAt,
  pendingMsAt,
  STALE_ABOVE,
} from './freshness.ts'

const NOW = 1_000_000
const facts = (over: Partial<FreshnessFacts> = {}): FreshnessFacts => ({
  online: true,
  pendingSince: null,
  heartbeatAt: NOW,
  cadenceMs: 10_000,
  heartbeatMs: 150_000,
  ...over,
})

describe('freshness', () => {
  const table: readonly (readonly [what: string, facts: FreshnessFacts, level: Freshness])[] = [
    ['nothing waits and the generation just moved', facts(), 'fresh'],
    ['a change waits exactly one and a half intervals', facts({ pendingSince: NOW - 15_000 }), 'fresh'],
    ['a change waits longer than that', facts({ pendingSince: NOW - 15_001 }), 'late'],
    ['a change waits exactly three intervals', facts({ pendingSince: NOW - 30_000 }), 'late'],
    ['a change waits longer than three', facts({ pendingSince: NOW - 30_001 }), 'stale'],
    ['the generation has not moved for one and a half heartbeats', facts({ heartbeatAt: NOW - 225_000 }), 'fresh'],
    ['the generation has not moved for longer', facts({ heartbeatAt: NOW - 225_001 }), 'late'],
    ['the generation has not moved for longer than three', facts({ heartbeatAt: NOW - 450_001 }), 'stale'],
    ['the worse of the two counts', facts({ pendingSince: NOW - 20_000, heartbeatAt: NOW - 500_000 }), 'stale'],
    ['its subject is disconnected, whatever waits', facts({ online: false, pendingSince: NOW - 99_999 }), 'offline'],
    ['it has no heartbeat, however long ago it moved', facts({ heartbeatMs: 0, heartbeatAt: 1 }), 'fresh'],
    ['it was never flushed, connected or not', facts({ heartbeatAt: 0, online: false }), 'unknown'],
  ]
  for (const [what, given, level] of table) it(`is ${level} when ${what}`, () => expect(freshnessAt(given, NOW)).toBe(level))

  it('never gets better by waiting, and ages are never negative, whatever the clocks say', () => {
    const moment = fc.integer({ min: 1, max: 2 * NOW })
    fc.assert(
      fc.property(fc.option(moment), moment, fc.integer({ min: 0, max: 600_000 }), (pendingSince, heartbeatAt, later) => {
        const given = facts({ pendingSince, heartbeatAt })
        expect(latenessAt(given, NOW + later)).toBeGreaterThanOrEqual(latenessAt(given, NOW))
        expect(pendingMsAt(given, NOW)).toBeGreaterThanOrEqual(0)
        expect(heartbeatAgeMsAt(given, NOW)).toBeGreaterThanOrEqual(0)
        const order: readonly Freshness[] = ['fresh', 'late', 'stale']
        expect(order.indexOf(freshnessAt(given, NOW + later))).toBeGreaterThanOrEqual(order.indexOf(freshnessAt(given, NOW)))
      }),
    )
  })

  it('has its tide lines where the rule says', () => {
    expect([LATE_ABOVE, STALE_ABOVE]).toEqual([1.5, 3])
  })
})

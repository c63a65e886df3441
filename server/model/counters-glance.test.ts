import { expect, it } from 'vitest'
import { toGlance } from './counters-glance.ts'
import type { Counters } from './views.ts'

it('a glance has what every page shows, and of a sink its name and what is wrong with it', () => {
  const counters = {
    summary: {},
    strips: [],
    sinks: [{ name: 'dataplane', lastError: null, writesPerSecond: 700 }],
    conflicts: { cells: [], recent: [] },
    sessions: { xds: 1, kds: 0 },
    rejecting: 2,
    insightsTotal: 3,
  } as unknown as Counters
  expect(toGlance(counters)).toEqual({ summary: {}, sinks: [{ name: 'dataplane', lastError: null }], rejecting: 2, insightsTotal: 3 })
})

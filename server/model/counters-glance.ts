import type { Counters, CountersGlance } from './views.ts'

/** The part that every page shows. What only some pages do (buckets of freshness, rates of sinks, conflicts) is most of the bytes. */
export function toGlance({ strips: _strips, conflicts: _conflicts, sessions: _sessions, sinks, ...glance }: Counters): CountersGlance {
  return { ...glance, sinks: sinks.map(({ name, lastError }) => ({ name, lastError })) }
}

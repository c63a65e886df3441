import { ZONE_SUBSCRIPTIONS_KEPT } from '../model/insight.ts'
import { createStatusSink, type StatusSink, type StatusSinkDefinition, type StatusSinkDeps } from './status-sink.ts'

/** What the streams of zones report, into ZoneInsights: one subscription per stream, either direction. */
const zones: StatusSinkDefinition = {
  name: 'zone',
  type: 'ZoneInsight',
  writer: 'zone-sink',
  keep: ZONE_SUBSCRIPTIONS_KEPT,
  settings: { interval: 'sink.zone.flushIntervalMs', backoff: 'sink.zone.flushBackoffMs', idleTimeout: 'insight.idleTimeoutMs' },
}

export function createZoneSink(deps: StatusSinkDeps): StatusSink {
  return createStatusSink(zones, deps)
}

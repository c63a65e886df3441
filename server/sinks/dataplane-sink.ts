import { DATAPLANE_SUBSCRIPTIONS_KEPT } from '../model/insight.ts'
import { createStatusSink, type StatusSink, type StatusSinkDefinition, type StatusSinkDeps } from './status-sink.ts'

/** What data plane streams report, into DataplaneInsights. */
const dataplanes: StatusSinkDefinition = {
  name: 'dataplane',
  type: 'DataplaneInsight',
  writer: 'dataplane-sink',
  keep: DATAPLANE_SUBSCRIPTIONS_KEPT,
  settings: {
    interval: 'sink.dataplane.flushIntervalMs',
    backoff: 'sink.dataplane.flushBackoffMs',
    idleTimeout: 'insight.idleTimeoutMs',
  },
}

export function createDataplaneSink(deps: StatusSinkDeps): StatusSink {
  return createStatusSink(dataplanes, deps)
}

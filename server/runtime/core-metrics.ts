import type { Metrics } from '../lib/metrics.ts'
import { type LinkHealth, linkHealths, type LinkStateKind, linkStateKinds } from '../model/link-row.ts'
import { freshnessLevels } from '../model/freshness.ts'
import type { InsightSummary } from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'

/** Every metric of the core, by the name dashboards rely on; renaming one needs a line in CHANGELOG.md. */
export type CoreMetrics = ReturnType<typeof createCoreMetrics>

/** Seconds. From a write to memory to a disk that takes its time. */
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
/** Seconds. From the batch window to a slow interval. */
const LAG_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]
const CONFIG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const LOOP_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1]
const ATTEMPT_BUCKETS = [1, 2, 3, 4, 5, 7, 10, 20]
/** Seconds. From an event in the same rack to one that waited for a reconnect. */
const EVENT_LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
/** Seconds. From a change that goes at once to one that waits for the next tick of a slow peer. */
const DELIVERY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5, 5, 10, 30]
/** Seconds an insight has waited. */
const AGE_BOUNDS = [1, 5, 10, 15, 30, 60, 120, 300, 600] as const

/** What is read when /metrics is. */
export interface Observed {
  readonly summary: () => InsightSummary
  /** How long the insights of each type have waited to be stored, in seconds; 0 for those that have nothing to store. */
  readonly waits: () => ReadonlyMap<string, readonly number[]>
  readonly sinks: () => readonly { readonly name: string; readonly intervalMs: number; readonly sessions: number }[]
  readonly sessions: () => { readonly xds: number; readonly kds: number }
  readonly links: () => readonly { readonly id: string; readonly state: LinkStateKind; readonly health: LinkHealth }[]
}

export function createCoreMetrics(metrics: Metrics, observed: Observed) {
  metrics.collectDefaults()
  metrics.gauge({ name: 'tidewatch_insights', help: 'Insights by freshness', labels: ['type', 'freshness'] }, (set) => {
    for (const [type, counts] of Object.entries(observed.summary()))
      for (const freshness of freshnessLevels) set({ type, freshness }, counts[freshness])
  })
  metrics.gauge(
    { name: 'tidewatch_insights_by_age', help: 'Insights whose wait is at most `le` seconds', labels: ['type', 'le'] },
    (set) => {
      for (const [type, waits] of observed.waits()) {
        let atMost = 0
        for (const [index, count] of countByAge(waits).entries()) {
          atMost += count
          set({ type, le: index < AGE_BOUNDS.length ? String(AGE_BOUNDS[index]) : '+Inf' }, atMost)
        }
      }
    },
  )
  metrics.gauge(
    { name: 'tidewatch_insight_age_max_seconds', help: 'The longest wait of an insight to be stored', labels: ['type'] },
    (set) => {
      for (const [type, waits] of observed.waits()) {
        let longest = 0
        for (const wait of waits) if (wait > longest) longest = wait
        set({ type }, longest)
      }
    },
  )
  metrics.gauge(
    { name: 'tidewatch_sink_flush_interval_seconds', help: 'How often at most a sink writes one insight', labels: ['sink'] },
    (set) => {
      for (const { name, intervalMs } of observed.sinks()) set({ sink: name }, intervalMs / 1000)
    },
  )
  metrics.gauge({ name: 'tidewatch_sink_sessions', help: 'Live sessions a sink follows', labels: ['sink'] }, (set) => {
    for (const { name, sessions } of observed.sinks()) set({ sink: name }, sessions)
  })
  metrics.gauge({ name: 'tidewatch_sessions', help: 'Live inbound streams', labels: ['protocol'] }, (set) => {
    for (const protocol of ['xds', 'kds'] as const) set({ protocol }, observed.sessions()[protocol])
  })
  metrics.gauge({ name: 'tidewatch_link_state', help: '1 for the present state of a link', labels: ['link', 'state'] }, (set) => {
    for (const { id, state } of observed.links()) for (const kind of linkStateKinds) set({ link: id, state: kind }, kind === state ? 1 : 0)
  })
  metrics.gauge({ name: 'tidewatch_link_health', help: '1 for the present health of a link', labels: ['link', 'health'] }, (set) => {
    for (const { id, health } of observed.links())
      for (const level of linkHealths) set({ link: id, health: level }, level === health ? 1 : 0)
  })

  return {
    flushes: metrics.counter({ name: 'tidewatch_sink_flushes_total', help: 'Flushes of an insight by result', labels: ['sink', 'result'] }),
    flushLag: metrics.histogram(
      { name: 'tidewatch_sink_flush_lag_seconds', help: 'From a change to its being stored', labels: ['sink'] },
      LAG_BUCKETS,
    ),
    storeOperations: metrics.counter({
      name: 'tidewatch_store_operations_total',
      help: 'Operations of the store',
      labels: ['operation', 'type', 'result'],
    }),
    storeDuration: metrics.histogram(
      {
        name: 'tidewatch_store_operation_duration_seconds',
        help: 'How long operations of the store took',
        labels: ['operation', 'type', 'result'],
      },
      STORE_BUCKETS,
    ),
    conflicts: metrics.counter({
      name: 'tidewatch_store_conflicts_total',
      help: 'Conflicts, counted when their story ends',
      labels: ['writer', 'lost_to', 'type', 'severity'],
    }),
    upsertAttempts: metrics.histogram(
      { name: 'tidewatch_upsert_attempts', help: 'Attempts a write took', labels: ['writer', 'type', 'outcome'] },
      ATTEMPT_BUCKETS,
    ),
    cacheRequests: metrics.counter({
      name: 'tidewatch_cache_requests_total',
      help: 'Reads through the cache',
      labels: ['operation', 'type', 'result'],
    }),
    responses: metrics.counter({
      name: 'tidewatch_discovery_responses_total',
      help: 'Discovery responses sent and answered',
      labels: ['protocol', 'type', 'result'],
    }),
    firstConfig: metrics.histogram(
      {
        name: 'tidewatch_xds_first_config_seconds',
        help: 'From the opening of a stream to its first configuration, by the type of that',
        labels: ['type'],
      },
      CONFIG_BUCKETS,
    ),
    kdsDelivery: metrics.histogram(
      {
        name: 'tidewatch_kds_delivery_seconds',
        help: 'Between control planes: from the first change an answer carries to its acknowledgement',
        labels: ['type'],
      },
      DELIVERY_BUCKETS,
    ),
    linkRequests: metrics.counter({
      name: 'tidewatch_link_requests_total',
      help: 'Requests of links by answer',
      labels: ['link', 'verb', 'code'],
    }),
    linkReconnects: metrics.counter({
      name: 'tidewatch_link_reconnects_total',
      help: 'Times a link connected again, by why it had to',
      labels: ['link', 'cause'],
    }),
    linkRelists: metrics.counter({
      name: 'tidewatch_link_relists_total',
      help: 'Times a link read everything, by why it had to',
      labels: ['link', 'reason'],
    }),
    linkEvents: metrics.counter({ name: 'tidewatch_link_events_total', help: 'What came through links', labels: ['link', 'event'] }),
    linkEventLag: metrics.histogram(
      { name: 'tidewatch_link_event_lag_seconds', help: 'From a change over there to its arrival here', labels: ['link'] },
      EVENT_LAG_BUCKETS,
    ),
    settingsChanges: metrics.counter({ name: 'tidewatch_settings_changes_total', help: 'Changes of tunables', labels: ['key', 'result'] }),
    eventLoopLag: metrics.histogram({ name: 'tidewatch_event_loop_lag_seconds', help: 'How late timers fire', labels: [] }, LOOP_BUCKETS),
    unhandledRejections: metrics.counter({
      name: 'tidewatch_unhandled_rejections_total',
      help: 'Promises that were rejected and nobody looked; anything above 0 is a bug',
      labels: [],
    }),
  }
}

/** How many waits are at most each bound and above the one before it; the last: above all. */
function countByAge(waits: readonly number[]): readonly number[] {
  const counts = Array.from({ length: AGE_BOUNDS.length + 1 }, () => 0)
  for (const wait of waits) {
    let index = 0
    while (index < AGE_BOUNDS.length && wait > AGE_BOUNDS[index]!) index++
    counts[index]!++
  }
  return counts
}

/** So that a counter nobody moved yet is there, at 0. */
export function primeCounters(core: CoreMetrics, settings: Pick<Settings, 'list'>): void {
  for (const result of ['written', 'unchanged', 'conflict', 'error']) core.flushes.add({ sink: 'dataplane', result }, 0)
  for (const { key } of settings.list()) core.settingsChanges.add({ key, result: 'applied' }, 0)
  core.unhandledRejections.add({}, 0)
}

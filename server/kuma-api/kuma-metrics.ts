/** What Kuma's Prometheus endpoint says, as far as it helps to tell why status is late. Absent = it has not happened, never broken. */
export interface KumaMetrics {
  readonly facts: readonly { readonly label: string; readonly value: string }[]
  readonly sums: ReadonlyMap<string, number>
  /** Monotonic ms. */
  readonly at: number
}

/** Durations are milliseconds in buckets made for seconds, so quantiles of them mean nothing: means only. */
const means = [
  ['xds_delivery', 'configuration until ACK or NACK'],
  ['xds_generation', 'configuration made'],
  ['kds_delta_delivery', 'sync between control planes until ACK'],
  ['insights_resyncer_event_time_to_process', 'mesh insight waits for its batch'],
  ['insights_resyncer_processor_idle_time', 'mesh insights idle between'],
  ['component_sub_finalizer', 'look for dead subscriptions'],
] as const
const counts = [
  ['store_conflicts', 'write conflicts'],
  ['events_dropped', 'events dropped (its subscribers were too slow)'],
  ['xds_generation_errors', 'configurations that failed'],
  ['kds_nack_total', 'NACKs sent to zones'],
] as const
const gauges = [
  ['xds_streams_active', 'data planes connected'],
  ['kds_delta_streams_active', 'sync streams'],
] as const

/** `now` is monotonic. Rates and means are of what came since `before`, where something did. */
export function nextKumaMetrics(text: string, before: KumaMetrics | undefined, now: number): KumaMetrics {
  const sums = new Map<string, number>()
  const add = (name: string, value: number) => sums.set(name, (sums.get(name) ?? 0) + value)
  for (const { name, labels, value } of parseMetrics(text)) {
    add(name, value)
    if (labels['confirmation'] === 'NACK') add(`${name} NACK`, value)
    if (name === 'store_count' && /^(create|update)$/.test(labels['operation'] ?? '') && labels['resource_type'] === 'DataplaneInsight')
      add('writes of data planes', value)
  }
  const facts = [
    ...counts.flatMap(([name, label]) => countFact(name, label)),
    ...gauges.flatMap(([name, label]) => (sums.has(name) ? [{ label, value: String(sums.get(name)) }] : [])),
    ...countFact('xds_requests_received NACK', 'NACKs of data planes'),
    ...countFact('kds_delta_requests_received NACK', 'NACKs between control planes'),
    ...rateFact('writes of data planes', 'writes of DataplaneInsights'),
    ...means.flatMap(([name, label]) => meanFact(name, label)),
  ]
  return { facts, sums, at: now }

  function countFact(name: string, label: string) {
    const value = sums.get(name) ?? 0
    const more = before === undefined ? 0 : value - (before.sums.get(name) ?? 0)
    return [{ label, value: `${value}${more > 0 ? `, ${more} since the last poll` : ''}` }]
  }
  function rateFact(name: string, label: string) {
    const [value, known] = [sums.get(name), before?.sums.get(name)]
    if (value === undefined || known === undefined || before === undefined || now <= before.at || value < known) return []
    return [{ label, value: `${((value - known) / ((now - before.at) / 1000)).toFixed(1)} a second` }]
  }
  function meanFact(name: string, label: string) {
    const [sum, count] = [sums.get(`${name}_sum`), sums.get(`${name}_count`)]
    if (sum === undefined || count === undefined || count === 0) return []
    const [sumBefore, countBefore] = [before?.sums.get(`${name}_sum`) ?? 0, before?.sums.get(`${name}_count`) ?? 0]
    const isRecent = before !== undefined && count > countBefore && sum >= sumBefore
    const mean = isRecent ? (sum - sumBefore) / (count - countBefore) : sum / count
    return [{ label, value: `${mean < 10 ? mean.toFixed(1) : Math.round(mean)} ms in the mean${isRecent ? '' : ', since its start'}` }]
  }
}

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** The text format 0.0.4. Lines that are no samples are left out, and so are buckets. */
function* parseMetrics(text: string): Generator<Sample> {
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, labelText = '', valueText] = SAMPLE.exec(line) ?? []
    if (name === undefined || name.endsWith('_bucket')) continue
    const value = Number(valueText)
    if (!Number.isFinite(value)) continue
    yield { name, value, labels: Object.fromEntries([...labelText.matchAll(LABEL)].map(([, label = '', said = '']) => [label, said])) }
  }
}

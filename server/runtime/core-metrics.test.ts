import { describe, expect, it } from 'vitest'
import { createMetrics } from '../lib/metrics.ts'
import { createCoreMetrics, type Observed, primeCounters } from './core-metrics.ts'

const nothing: Observed = {
  summary: () => ({}),
  waits: () => new Map(),
  sinks: () => [],
  sessions: () => ({ xds: 0, kds: 0 }),
  links: () => [],
}

/** The lines of one metric. */
async function scrape(name: string, observed: Partial<Observed>) {
  const metrics = createMetrics()
  createCoreMetrics(metrics, { ...nothing, ...observed })
  return (await metrics.text()).split('\n').filter((line) => line.startsWith(`${name}{`))
}

describe('the metrics of the core', () => {
  it('count insights by how long they wait, each in every bound it is within', async () => {
    const waits = () => new Map([['DataplaneInsight', [0, 1, 1.001, 12, 601]]])
    const lines = await scrape('tidewatch_insights_by_age', { waits })
    expect(lines.map((line) => line.replace(/.*le="([^"]+)"} /, '$1 '))).toEqual([
      '1 2',
      '5 3',
      '10 3',
      '15 4',
      '30 4',
      '60 4',
      '120 4',
      '300 4',
      '600 4',
      '+Inf 5',
    ])
    expect(await scrape('tidewatch_insight_age_max_seconds', { waits })).toEqual([
      'tidewatch_insight_age_max_seconds{type="DataplaneInsight"} 601',
    ])
  })

  it('say 0, not nothing, of a type that has no insights', async () => {
    const waits = () => new Map([['DataplaneInsight', []]])
    expect(await scrape('tidewatch_insight_age_max_seconds', { waits })).toEqual([
      'tidewatch_insight_age_max_seconds{type="DataplaneInsight"} 0',
    ])
  })

  it('follow 50,000 insights in one scrape', async () => {
    const many = Array.from({ length: 50_000 }, (_, index) => index / 100)
    const lines = await scrape('tidewatch_insights_by_age', { waits: () => new Map([['DataplaneInsight', many]]) })
    expect(lines.at(-1)).toBe('tidewatch_insights_by_age{type="DataplaneInsight",le="+Inf"} 50000')
  })

  it('tell the interval in seconds and the sessions of each sink', async () => {
    const sinks = () => [{ name: 'dataplane', intervalMs: 2500, sessions: 7 }]
    expect(await scrape('tidewatch_sink_flush_interval_seconds', { sinks })).toEqual([
      'tidewatch_sink_flush_interval_seconds{sink="dataplane"} 2.5',
    ])
    expect(await scrape('tidewatch_sink_sessions', { sinks })).toEqual(['tidewatch_sink_sessions{sink="dataplane"} 7'])
  })

  it('have their counters at 0 before anything happens, so that a rate is right from the first event on', async () => {
    const metrics = createMetrics()
    primeCounters(createCoreMetrics(metrics, nothing), { list: () => [{ key: 'cache.ttlMs' }] as never })
    const text = await metrics.text()
    for (const result of ['written', 'unchanged', 'conflict', 'error'])
      expect(text).toContain(`tidewatch_sink_flushes_total{sink="dataplane",result="${result}"} 0\n`)
    expect(text).toContain('tidewatch_settings_changes_total{key="cache.ttlMs",result="applied"} 0\n')
    expect(text).toContain('tidewatch_unhandled_rejections_total 0\n')
    expect(text).toContain('nodejs_version_info')
  })
})

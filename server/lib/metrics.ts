import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** One registry for the whole process: what /metrics prints and what pages show are the same numbers. */
export interface Metrics {
  counter<L extends string>(description: MetricDescription<L>): CounterOf<L>
  /** With `collect`, its value is asked for at each scrape. */
  gauge<L extends string>(
    description: MetricDescription<L>,
    collect?: (set: (labels: Readonly<Record<L, string>>, value: number) => void) => void,
  ): GaugeOf<L>
  histogram<L extends string>(description: MetricDescription<L>, buckets: readonly number[]): HistogramOf<L>
  /** Node's own: heap, event loop, handles, ... */
  collectDefaults(): void
  /** Prometheus text. */
  text(): Promise<string>
  /** What was declared here, in this order: the documentation is held against it. */
  declared(): readonly Declared[]
}
export interface Declared extends MetricDescription<string> {
  readonly kind: 'counter' | 'gauge' | 'histogram'
}

export interface MetricDescription<L extends string> {
  readonly name: string
  readonly help: string
  /** Bounded sets only: never a label per object. */
  readonly labels: readonly L[]
}
export interface CounterOf<L extends string> {
  add(labels: Readonly<Record<L, string>>, by?: number): void
}
export interface GaugeOf<L extends string> {
  set(labels: Readonly<Record<L, string>>, value: number): void
}
export interface HistogramOf<L extends string> {
  observe(labels: Readonly<Record<L, string>>, value: number): void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const declared: Declared[] = []
  return {
    counter({ name, help, labels }) {
      declared.push({ kind: 'counter', name, help, labels })
      const counter = new Counter({ name, help, labelNames: [...labels], registers })
      return { add: (values, by = 1) => counter.inc(values, by) }
    },
    gauge({ name, help, labels }, collect) {
      declared.push({ kind: 'gauge', name, help, labels })
      const gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        ...(collect !== undefined && {
          collect() {
            gauge.reset()
            collect((values, value) => gauge.set(values, value))
          },
        }),
      })
      return { set: (values, value) => gauge.set(values, value) }
    },
    histogram({ name, help, labels }, buckets) {
      declared.push({ kind: 'histogram', name, help, labels })
      const histogram = new Histogram({ name, help, labelNames: [...labels], registers, buckets: [...buckets] })
      return { observe: (values, value) => histogram.observe(values, value) }
    },
    collectDefaults: () => collectDefaultMetrics({ register: registry }),
    text: () => registry.metrics(),
    declared: () => declared,
  }
}

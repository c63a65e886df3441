import { describe, expect, it } from 'vitest'
import { createMetrics } from './metrics.ts'

describe('the metrics', () => {
  it('print a counter that nobody moved once it was moved by nothing', async () => {
    const metrics = createMetrics()
    const counter = metrics.counter({ name: 'x_total', help: 'Xs', labels: ['kind'] })
    expect(await metrics.text()).not.toContain('x_total{')
    counter.add({ kind: 'a' }, 0)
    counter.add({ kind: 'b' })
    counter.add({ kind: 'b' }, 2)
    expect(await metrics.text()).toContain('# HELP x_total Xs\n# TYPE x_total counter\nx_total{kind="a"} 0\nx_total{kind="b"} 3\n')
  })

  it('ask for a collected gauge at each scrape, and forget what is gone', async () => {
    const metrics = createMetrics()
    let values: Readonly<Record<string, number>> = { a: 1, b: 2 }
    metrics.gauge({ name: 'x', help: 'Xs', labels: ['kind'] }, (set) => {
      for (const [kind, value] of Object.entries(values)) set({ kind }, value)
    })
    expect(await metrics.text()).toContain('x{kind="a"} 1\nx{kind="b"} 2\n')
    values = { b: 5 }
    const text = await metrics.text()
    expect(text).toContain('x{kind="b"} 5\n')
    expect(text).not.toContain('kind="a"')
  })

  it('put observations into buckets', async () => {
    const metrics = createMetrics()
    metrics.histogram({ name: 'x_seconds', help: 'Xs', labels: [] }, [0.1, 1]).observe({}, 0.5)
    expect(await metrics.text()).toContain('x_seconds_bucket{le="0.1"} 0\nx_seconds_bucket{le="1"} 1\nx_seconds_bucket{le="+Inf"} 1\n')
  })

  it('of two processes in one are apart', async () => {
    const [first, second] = [createMetrics(), createMetrics()]
    for (const metrics of [first, second]) metrics.counter({ name: 'x_total', help: 'Xs', labels: [] })
    first.counter({ name: 'y_total', help: 'Ys', labels: [] }).add({})
    expect(await second.text()).not.toContain('y_total')
    expect(first.declared().map(({ name }) => name)).toEqual(['x_total', 'y_total'])
  })
})

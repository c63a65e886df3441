import { expect, it } from 'vitest'
import { nextKumaMetrics } from './kuma-metrics.ts'

it('metrics tell counts, and of durations the mean of what came since the last poll: their buckets mean nothing', () => {
  const text = (conflicts: number, sum: number, count: number) =>
    [
      '# TYPE store_conflicts counter',
      `store_conflicts{resource_type="ZoneInsight",zone="Global"} ${conflicts}`,
      `store_conflicts{resource_type="a \\"b\\"",zone="Global"} 1`,
      `xds_delivery_bucket{le="0.005"} 0`,
      `xds_delivery_sum{zone="z"} ${sum}`,
      `xds_delivery_count{zone="z"} ${count}`,
      'this is no sample',
    ].join('\n')
  const first = nextKumaMetrics(text(2, 1_000, 10), undefined, 0)
  expect(first.facts).toContainEqual({ label: 'write conflicts', value: '3' })
  expect(first.facts).toContainEqual({ label: 'configuration until ACK or NACK', value: '100 ms in the mean, since its start' })
  expect(first.facts).toContainEqual({ label: 'events dropped (its subscribers were too slow)', value: '0' })
  const second = nextKumaMetrics(text(6, 1_600, 12), first, 10_000)
  expect(second.facts).toContainEqual({ label: 'write conflicts', value: '7, 4 since the last poll' })
  expect(second.facts).toContainEqual({ label: 'configuration until ACK or NACK', value: '300 ms in the mean' })
})

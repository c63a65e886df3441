import { describe, expect, it } from 'vitest'
import { bound, inTurn, median, quantile, toResult } from './harness.ts'

describe('a result', () => {
  const pair = { id: 'x', title: 'X', unit: 'ms', target: 5 }

  it('is the median of the ratios of its runs, each against the baseline of the same repeat', () => {
    const runs = [
      { ours: 1, baseline: 4 },
      { ours: 2, baseline: 20 },
      { ours: 1, baseline: 6 },
    ]
    expect(toResult({ ...pair, runs })).toMatchObject({ ratio: 6, min: 4, max: 10, ours: 1, baseline: 6, target: 5, ok: true, runs: 3 })
    expect(toResult({ ...pair, target: 7, runs }).ok).toBe(false)
  })

  it('of a bound is met when what was measured fits into it', () => {
    expect(toResult({ ...pair, target: 1, runs: bound(20, [10, 12, 40]) })).toMatchObject({ ok: true, ours: 12, baseline: 20 })
    expect(toResult({ ...pair, target: 1, runs: bound(20, [30, 12, 40]) }).ok).toBe(false)
  })

  it('has quantiles between its values', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(quantile([0, 10], 0.25)).toBe(2.5)
  })
})

it('arms take turns, and neither is always first', async () => {
  const order: string[] = []
  const arm = (name: string) => () => {
    order.push(name)
    return Promise.resolve(1)
  }
  await inTurn(2, { ours: arm('ours'), baseline: arm('baseline') })
  expect(order).toEqual(['ours', 'baseline', 'baseline', 'ours'])
})

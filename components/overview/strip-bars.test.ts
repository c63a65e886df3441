import { describe, expect, it } from 'vitest'
import { STRIP_BUCKETS } from '../../server/model/views.ts'
import { stripBarsOf, stripTableOf, stripZones } from './strip-bars.ts'

const only = (index: number, count: number) => Array.from({ length: STRIP_BUCKETS }, (_, each) => (each === index ? count : 0))

describe('the bars of a freshness strip', () => {
  it('are of the level that their lateness has', () => {
    const bars = stripBarsOf(only(0, 1))
    // 15 buckets to a cadence: late from 1.5, stale from 3.
    const countOf = (level: string) => bars.filter((bar) => bar.level === level).length
    expect(['fresh', 'late', 'stale'].map(countOf)).toEqual([23, 22, 15])
    expect([bars[22]!.level, bars[23]!.level, bars[44]!.level, bars[45]!.level]).toEqual(['fresh', 'late', 'late', 'stale'])
  })

  it('show one among ten thousand, and nothing where nothing is', () => {
    const bars = stripBarsOf(only(5, 10_000).with(50, 1))
    expect(bars[5]!.height).toBe(1)
    expect(bars[50]!.height).toBeGreaterThan(0.05)
    expect(bars[51]!.height).toBe(0)
  })

  it('are all flat where there is nothing', () => {
    expect(new Set(stripBarsOf(only(0, 0)).map(({ height }) => height))).toEqual(new Set([0]))
  })
})

describe('the table beside it', () => {
  it('counts every insight once', () => {
    const buckets = Array.from({ length: STRIP_BUCKETS }, (_, index) => index)
    const total = buckets.reduce((sum, count) => sum + count)
    expect(stripTableOf(buckets).reduce((sum, { count }) => sum + count, 0)).toBe(total)
    expect(stripTableOf(buckets)).toHaveLength(8)
  })
})

it('the tide lines stand at 1.5 and 3 of 4 cadences', () => {
  expect(stripZones.map(({ to }) => to)).toEqual([37.5, 75, 100])
})

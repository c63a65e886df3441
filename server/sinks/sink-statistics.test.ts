import { describe, expect, it } from 'vitest'
import { createSinkStatistics } from './sink-statistics.ts'

function begin() {
  let now = 5_500
  const statistics = createSinkStatistics(() => now)
  return { statistics, at: (second: number) => (now = 5_500 + second * 1_000) }
}

describe('statistics of a sink', () => {
  it('count since the start, dropped ones apart', () => {
    const { statistics, at } = begin()
    for (let second = 0; second < 200; second++) {
      at(second)
      statistics.count('written')
    }
    statistics.count('dropped')
    expect(statistics.snapshot().flushes).toEqual({ written: 200, unchanged: 0, conflict: 0, error: 0 })
    expect(statistics.totals().dropped).toBe(1)
  })

  it('give rates over the last ten whole seconds, or over as many as there were', () => {
    const { statistics, at } = begin()
    for (let second = 0; second < 4; second++) {
      at(second)
      for (let write = 0; write < 6; write++) statistics.count('written')
      statistics.count('conflict')
    }
    expect(statistics.snapshot()).toMatchObject({ writesPerSecond: 6, perSecond: { written: 6, conflict: 1, unchanged: 0, error: 0 } })
    at(12)
    expect(statistics.snapshot().writesPerSecond).toBeCloseTo(1.2)
    at(30)
    expect(statistics.snapshot().writesPerSecond).toBe(0)
  })

  it('give the writes of each of the last sixty whole seconds, oldest first', () => {
    const { statistics, at } = begin()
    statistics.count('written')
    at(59)
    statistics.count('written')
    statistics.count('written')
    at(60)
    const { recentWrites } = statistics.snapshot()
    expect(recentWrites).toHaveLength(60)
    expect([recentWrites[0], recentWrites[1], recentWrites[59]]).toEqual([1, 0, 2])
    at(61)
    expect(statistics.snapshot().recentWrites[0]).toBe(0)
  })

  it('give the lag of the last minute', () => {
    const { statistics, at } = begin()
    for (let ms = 1; ms <= 100; ms++) statistics.lag(ms)
    expect(statistics.snapshot().lagMs).toEqual({ p50: 50, p99: 99 })
    at(80)
    expect(statistics.snapshot().lagMs).toEqual({ p50: 0, p99: 0 })
  })
})

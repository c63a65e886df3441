import { describe, expect, it } from 'vitest'
import type { WriteRecord } from '../../server/model/views.ts'
import { writeLanesAt } from './write-lanes.ts'

const now = 10_000_000
const write = (agoMs: number, writer: string, rest: Partial<WriteRecord> = {}): WriteRecord => ({
  at: now - agoMs,
  writer,
  instance: 'one',
  version: String(agoMs),
  outcome: 'written',
  ...rest,
})

describe('last writes on one time axis', () => {
  it('gives each writer its lane, on the shortest round window that holds all', () => {
    const { windowMs, lanes } = writeLanesAt(
      [write(240_000, 'dataplane-sink'), write(150_000, 'identity'), write(0, 'dataplane-sink')],
      now,
    )
    expect(windowMs).toBe(300_000)
    expect(lanes.map(({ label, marks }) => [label, marks.map(({ percent }) => percent)])).toEqual([
      ['dataplane-sink', [20, 100]],
      ['identity', [50]],
    ])
  })

  it('tells instances apart only where one writer wrote from several', () => {
    const { lanes } = writeLanesAt(
      [write(10, 'identity'), write(9, 'dataplane-sink'), write(8, 'dataplane-sink', { instance: 'two' })],
      now,
    )
    expect(lanes.map(({ label }) => label)).toEqual(['identity', 'dataplane-sink @ one', 'dataplane-sink @ two'])
  })

  it('keeps a write from a clock ahead of ours at the right end', () => {
    expect(writeLanesAt([write(-5000, 'identity')], now).lanes[0]?.marks[0]?.percent).toBe(100)
  })

  it('stretches for a write older than the longest window', () => {
    const { windowMs, lanes } = writeLanesAt([write(900_000_000, 'lifecycle')], now)
    expect(windowMs).toBe(900_000_000)
    expect(lanes[0]?.marks[0]?.percent).toBe(0)
  })

  it('is a minute of nothing without writes', () => {
    expect(writeLanesAt([], now)).toEqual({ windowMs: 60_000, lanes: [] })
  })
})

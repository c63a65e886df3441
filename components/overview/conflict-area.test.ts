import { describe, expect, it } from 'vitest'
import { conflictAreaOf } from './conflict-area.ts'

const point = (at: number, benign: number, harmful: number) => ({ at, benign, harmful })

describe('the area of conflicts', () => {
  it('stacks harmful on benign, scaled to the highest sum', () => {
    const area = conflictAreaOf([point(0, 0, 0), point(10_000, 6, 2), point(20_000, 4, 0)])
    expect(area).toEqual({
      benign: 'M0,100 L0,100 L300,25 L600,50 L600,100 Z',
      harmful: 'M0,100 L300,25 L600,50 L600,50 L300,0 L0,100 Z',
      highest: 8,
      spanMs: 30_000,
      bucketMs: 10_000,
    })
  })

  it('does not make a mountain of one conflict', () => {
    expect(conflictAreaOf([point(0, 1, 0), point(10_000, 0, 0)]).benign).toBe('M0,100 L0,75 L600,100 L600,100 Z')
  })

  it('draws nothing of nothing', () => {
    expect(conflictAreaOf([])).toEqual({ benign: '', harmful: '', highest: 0, spanMs: 0, bucketMs: 0 })
  })
})

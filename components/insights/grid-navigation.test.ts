import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextActiveRow } from './grid-navigation.ts'

const at = (active: number) => ({ active, rowCount: 100, pageRows: 20 })

describe('moving through the grid by keyboard', () => {
  it.each([
    ['ArrowDown', -1, 0],
    ['ArrowDown', 4, 5],
    ['ArrowDown', 99, 99],
    ['ArrowUp', 4, 3],
    ['ArrowUp', 0, 0],
    ['ArrowUp', -1, 0],
    ['PageDown', -1, 19],
    ['PageDown', 10, 29],
    ['PageDown', 95, 99],
    ['PageUp', 30, 11],
    ['PageUp', 3, 0],
    ['Home', 50, 0],
    ['End', 50, 99],
  ])('%s from row %i goes to row %i', (key, from, to) => {
    expect(nextActiveRow(key, at(from))).toBe(to)
  })

  it('leaves other keys alone', () => {
    expect(nextActiveRow('a', at(3))).toBeUndefined()
    expect(nextActiveRow('Tab', at(3))).toBeUndefined()
  })

  it('has nowhere to go in an empty grid', () => {
    expect(nextActiveRow('ArrowDown', { active: -1, rowCount: 0, pageRows: 20 })).toBeUndefined()
  })

  it('never leaves the grid', () => {
    const keys = fc.array(fc.constantFrom('ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End'))
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 60 }), (presses, rowCount, pageRows) => {
        let active = -1
        for (const key of presses) {
          active = nextActiveRow(key, { active, rowCount, pageRows }) ?? active
          expect(active).toBeGreaterThanOrEqual(0)
          expect(active).toBeLessThan(rowCount)
        }
      }),
    )
  })
})

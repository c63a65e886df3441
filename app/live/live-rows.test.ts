import { describe, expect, it } from 'vitest'
import type { InsightRow, Key } from '../../server/model/views.ts'
import { createLiveRows } from './live-rows.ts'

const keyOf = (name: string): Key => ({ type: 'DataplaneInsight', mesh: 'default', name })
const rowOf = (name: string, version = '1') => ({ key: keyOf(name), version }) as InsightRow

describe('the rows of a tab', () => {
  it('tell a change to those who watch that row, and to nobody else', () => {
    const rows = createLiveRows()
    const told: string[] = []
    rows.subscribe(keyOf('a'), () => told.push('a'))
    const end = rows.subscribe(keyOf('b'), () => told.push('b'))
    rows.put([rowOf('a'), rowOf('b'), rowOf('c')])
    expect(told).toEqual(['a', 'b'])
    end()
    rows.put([rowOf('b', '2')])
    expect(told).toEqual(['a', 'b'])
    expect(rows.get(keyOf('b'))?.row?.version).toBe('2')
  })

  it('keep what a removed one was last, and know of one never seen that it is gone', () => {
    const rows = createLiveRows()
    rows.put([rowOf('a')])
    rows.markGone([keyOf('a'), keyOf('b')])
    expect(rows.get(keyOf('a'))).toEqual({ row: rowOf('a'), isGone: true })
    expect(rows.get(keyOf('b'))).toEqual({ row: undefined, isGone: true })
    expect(rows.has(keyOf('b'))).toBe(true)
    rows.put([rowOf('a', '2')])
    expect(rows.get(keyOf('a'))).toEqual({ row: rowOf('a', '2'), isGone: false })
  })

  it('keep the same slot when nothing is new, so that nothing is drawn again', () => {
    const rows = createLiveRows()
    rows.markGone([keyOf('a')])
    const slot = rows.get(keyOf('a'))
    rows.markGone([keyOf('a')])
    expect(rows.get(keyOf('a'))).toBe(slot)
  })

  it('forget those untouched for longest, never those on screen', () => {
    const rows = createLiveRows(3)
    rows.subscribe(keyOf('0'), () => {})
    rows.put(['0', '1', '2', '3', '4'].map((name) => rowOf(name)))
    expect(rows.size()).toBe(3)
    expect(['0', '1', '2', '3', '4'].filter((name) => rows.has(keyOf(name)))).toEqual(['0', '3', '4'])
  })
})

import { describe, expect, it } from 'vitest'
import type { InsightRow, Key } from '../../server/model/views.ts'
import { createLiveRows } from './live-rows.ts'

const key = (name: string): Key => ({ type: 'DataplaneInsight', mesh: 'default', name })
const row = (name: string, version = '1') => ({ key: key(name), version }) as InsightRow

describe('the rows of a tab', () => {
  it('tell a change of one row to who shows that row, and to nobody else', () => {
    const rows = createLiveRows()
    const heard: string[] = []
    const ends = ['a', 'b'].map((name) => rows.subscribe(key(name), () => heard.push(name)))
    rows.put([row('a')])
    expect(heard).toEqual(['a'])
    for (const end of ends) end()
    rows.put([row('a', '2'), row('b')])
    expect(heard).toEqual(['a'])
    expect(rows.get(key('a'))?.row?.version).toBe('2')
  })

  it('keep the last row of one that is gone, and say so once', () => {
    const rows = createLiveRows()
    let told = 0
    rows.put([row('a')])
    const end = rows.subscribe(key('a'), () => told++)
    rows.markGone([key('a'), key('never seen')])
    rows.markGone([key('a')])
    expect(told).toBe(1)
    expect(rows.get(key('a'))).toEqual({ row: row('a'), isGone: true })
    expect(rows.get(key('never seen'))).toEqual({ row: undefined, isGone: true })
    rows.put([row('a', '2')])
    expect(rows.get(key('a'))).toEqual({ row: row('a', '2'), isGone: false })
    end()
  })

  it('forget the longest untouched ones, and never one on screen', () => {
    const rows = createLiveRows(2)
    const end = rows.subscribe(key('shown'), () => {})
    rows.put([row('shown'), row('a'), row('b'), row('c')])
    expect(rows.size()).toBe(2)
    expect(['shown', 'a', 'b', 'c'].map((name) => rows.has(key(name)))).toEqual([true, false, false, true])
    end()
  })
})

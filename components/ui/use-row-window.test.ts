import { describe, expect, it } from 'vitest'
import { scrollToRow } from './use-row-window.ts'

describe('scrolling to a row', () => {
  const sizes = { rowPx: 30, headerPx: 32 }
  const cases = [
    { what: 'stays where the row is in view', row: 12, from: 300, to: 300 },
    { what: 'goes up to a row above, below the header', row: 3, from: 300, to: 90 },
    { what: 'goes down to a row below, as far as it takes', row: 40, from: 300, to: 40 * 30 + 30 + 32 - 332 },
    { what: 'takes a row that is cut off for one below', row: 20, from: 300, to: 330 },
  ]
  it.each(cases)('$what', ({ row, from, to }) => {
    const scroller = { scrollTop: from, clientHeight: 332 } as HTMLElement
    scrollToRow(scroller, row, sizes)
    expect(scroller.scrollTop).toBe(to)
  })
})

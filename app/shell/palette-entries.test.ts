import { describe, expect, it } from 'vitest'
import { paletteEntries } from './palette-entries.ts'

const labels = (typed: string) => paletteEntries(typed, ['dataplane']).map(({ label }) => label)

describe('the palette', () => {
  it('offers the pages first', () => expect(labels('').slice(0, 3)).toEqual(['Overview', 'Insights', 'Sinks']))

  it('finds by any words, in any order and case', () => {
    expect(labels('dataplane TUNE')).toEqual(['Tune dataplane', 'Insights with “dataplane TUNE” in mesh or name'])
  })

  it('always offers to search for what was typed', () => {
    expect(paletteEntries(' web-1 ', [])).toEqual([
      { href: '/insights?q=web-1', label: 'Insights with “web-1” in mesh or name', hint: 'search' },
    ])
  })
})

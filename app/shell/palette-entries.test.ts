import { describe, expect, it } from 'vitest'
import { paletteEntries } from './palette-entries.ts'

const labels = (typed: string) => paletteEntries(typed, ['dataplane', 'a b']).map(({ label }) => label)

describe('the palette', () => {
  it('begins with the pages, and has every sink', () => {
    expect(labels('').slice(0, 3)).toEqual(['Overview', 'Insights', 'Sinks'])
    expect(labels('')).toContain('Tune dataplane')
  })

  it('keeps what has all the words, in any order and case', () => {
    expect(labels('insights STALE')).toEqual(['Stale insights', 'Insights with “insights STALE” in mesh or name'])
  })

  it('can always search the insights for what was typed', () => {
    expect(paletteEntries(' dp 7 ', []).at(-1)?.href).toBe('/insights?q=dp+7')
    expect(labels('   ')).toEqual(labels(''))
  })

  it('leads to a sink whatever its name', () => {
    expect(paletteEntries('tune a b', ['a b'])[0]?.href).toBe('/sinks?tune=a%20b')
  })
})

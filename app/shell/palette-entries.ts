import { insightsHref } from '../insights/insights-href.ts'
import { destinations } from './destinations.ts'

export interface PaletteEntry {
  readonly label: string
  readonly hint: string
  readonly href: string
}

const standing: readonly PaletteEntry[] = [
  ...destinations.map(({ href, label, chord }) => ({ href, label, hint: `g ${chord}` })),
  { href: insightsHref({ freshness: ['stale'] }), label: 'Stale insights', hint: 'filter' },
  { href: insightsHref({ freshness: ['late'] }), label: 'Late insights', hint: 'filter' },
  { href: insightsHref({ freshness: ['offline'] }), label: 'Offline insights', hint: 'filter' },
  { href: insightsHref({ rejecting: true }), label: 'Insights of data planes that reject', hint: 'filter' },
  { href: insightsHref({ sort: 'conflicts' }), label: 'Insights by conflicts', hint: 'sort' },
]

/** What fits what was typed, word by word; what was typed can always be searched for in the list of insights. */
export function paletteEntries(typed: string, sinks: readonly string[]): readonly PaletteEntry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const tune = sinks.map((name) => ({ href: `/sinks?tune=${encodeURIComponent(name)}`, label: `Tune ${name}`, hint: 'sink' }))
  const fitting = [...standing, ...tune].filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
  const q = typed.trim()
  return q === '' ? fitting : [...fitting, { href: insightsHref({ q }), label: `Insights with “${q}” in mesh or name`, hint: 'search' }]
}

import { describe, expect, it } from 'vitest'
import { insightsHref, parseKeyParam, toKeyParam } from './insights-href.ts'
import { isNarrowed, loadInsightsView, toInsightFilter } from './search-params.ts'

describe('view state of the insights page', () => {
  it('is the plain list when the URL says nothing', () => {
    const view = loadInsightsView({})
    expect(view).toEqual({ q: '', type: null, mesh: null, freshness: [], rejecting: false, sort: 'worst', key: null })
    expect(toInsightFilter(view)).toEqual({ sort: 'worst' })
    expect(isNarrowed(view)).toBe(false)
  })

  it('survives the way into a link and back', () => {
    const href = insightsHref({
      q: 'web eu',
      mesh: 'prod',
      freshness: ['stale', 'late'],
      rejecting: true,
      sort: 'conflicts',
      key: { type: 'DataplaneInsight', mesh: 'prod', name: 'web-1' },
    })
    const view = loadInsightsView(new URL(href, 'http://localhost').searchParams)
    expect(view).toEqual({
      q: 'web eu',
      type: null,
      mesh: 'prod',
      freshness: ['stale', 'late'],
      rejecting: true,
      sort: 'conflicts',
      key: { type: 'DataplaneInsight', mesh: 'prod', name: 'web-1' },
    })
    expect(isNarrowed(view)).toBe(true)
  })

  it('keeps defaults out of links', () => {
    expect(insightsHref({ sort: 'worst', q: '', freshness: [] })).toBe('/insights')
  })

  it('ignores what it does not know instead of failing', () => {
    const view = loadInsightsView({ sort: 'best', freshness: 'stale,rotten', key: 'nonsense' })
    expect(view).toMatchObject({ sort: 'worst', freshness: ['stale'], key: null })
  })

  it('asks for the same filter whatever order the levels were chosen in', () => {
    const one = toInsightFilter(loadInsightsView({ freshness: 'stale,late' }))
    const other = toInsightFilter(loadInsightsView({ freshness: 'late,stale' }))
    expect(one).toEqual(other)
    expect(one.freshness).toEqual(['late', 'stale'])
  })

  it('does not ask for blank words', () => {
    expect(toInsightFilter(loadInsightsView({ q: '   ' }))).toEqual({ sort: 'worst' })
  })
})

describe('key of an insight in a URL', () => {
  it.each([
    { type: 'DataplaneInsight', mesh: 'prod', name: 'web-1' },
    { type: 'ZoneInsight', mesh: '', name: 'east' },
    { type: 'DataplaneInsight', mesh: 'prod', name: 'ns/web-1' },
  ])('comes back as it went: %o', (key) => {
    expect(parseKeyParam(toKeyParam(key))).toEqual(key)
  })

  it.each(['', 'DataplaneInsight', 'DataplaneInsight/prod', 'DataplaneInsight/prod/', '//x'])(
    'is nothing when a part is missing: "%s"',
    (text) => {
      expect(parseKeyParam(text)).toBeNull()
    },
  )
})

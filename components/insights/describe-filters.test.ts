import { describe, expect, it } from 'vitest'
import { describeFilters } from './describe-filters.ts'

const none = { q: '', type: null, mesh: null, freshness: [], rejecting: false } as const

describe('filters in words', () => {
  it('names each one that is on', () => {
    expect(describeFilters({ q: ' web ', type: 'DataplaneInsight', mesh: 'prod', freshness: ['stale', 'late'], rejecting: true })).toBe(
      '“web” in mesh or name, type DataplaneInsight, mesh prod, stale or late, rejecting something',
    )
  })

  it('says nothing when none is on', () => {
    expect(describeFilters(none)).toBe('')
    expect(describeFilters({ ...none, q: '  ' })).toBe('')
  })
})

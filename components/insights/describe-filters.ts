import type { ListFilters } from './filter-bar.tsx'

/** Which filters are on, in words: what an empty list is told apart by. */
export function describeFilters({ q, type, mesh, freshness, rejecting }: Omit<ListFilters, 'sort'>): string {
  const words = q.trim()
  return [
    ...(words === '' ? [] : [`“${words}” in mesh or name`]),
    ...(type === null ? [] : [`type ${type}`]),
    ...(mesh === null ? [] : [`mesh ${mesh}`]),
    ...(freshness.length === 0 ? [] : [freshness.join(' or ')]),
    ...(rejecting ? ['rejecting something'] : []),
  ].join(', ')
}

import type { Key } from '../../server/model/views.ts'
import type { InsightsView } from './search-params.ts'

/**
 * A link to the page in a given state: `insightsHref({ freshness: ['stale'] })`. Written by hand, in the words that
 * `loadInsightsView` reads, so that a page with such a link does not bring what parses them.
 */
export function insightsHref({ q, type, mesh, freshness, rejecting, sort, key }: Partial<InsightsView>): string {
  const params = new URLSearchParams()
  if (q) params.set('q', q)
  if (type) params.set('type', type)
  if (mesh) params.set('mesh', mesh)
  if (freshness !== undefined && freshness.length > 0) params.set('freshness', freshness.join(','))
  if (rejecting === true) params.set('rejecting', 'true')
  if (sort !== undefined && sort !== 'worst') params.set('sort', sort)
  if (key) params.set('key', toKeyParam(key))
  return params.size === 0 ? '/insights' : `/insights?${params.toString()}`
}

/** `DataplaneInsight/prod/web-1`. Types and meshes have no slash in them, a name may. */
export function toKeyParam(key: Key): string {
  return `${key.type}/${key.mesh}/${key.name}`
}

export function parseKeyParam(text: string): Key | null {
  const [type = '', mesh = '', ...rest] = text.split('/')
  const name = rest.join('/')
  return type === '' || name === '' ? null : { type, mesh, name }
}

import type { SessionRow } from '../../server/model/views.ts'

/** What the page makes of the live streams: pure. */

export interface StreamFilter {
  readonly q: string
  readonly state: 'rejecting' | 'pending' | 'synced' | null
  readonly variant: 'sotw' | 'delta' | null
  readonly mesh: string | null
}

/** The worst of its types. */
export function stateOf({ types }: SessionRow): 'rejecting' | 'pending' | 'synced' {
  if (types.some(({ status }) => status === 'rejected')) return 'rejecting'
  return types.some(({ status }) => status === 'pending') ? 'pending' : 'synced'
}

/** Those that fit, by mesh and name: an order that what happens on a stream does not move. */
export function filterStreams(sessions: readonly SessionRow[], { q, state, variant, mesh }: StreamFilter): readonly SessionRow[] {
  const words = q
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  return sessions
    .filter(
      (session) =>
        (state === null || stateOf(session) === state) &&
        (variant === null || session.variant === variant) &&
        (mesh === null || session.subject.mesh === mesh) &&
        words.every((word) => `${session.subject.mesh}/${session.subject.name}`.toLowerCase().includes(word)),
    )
    .toSorted(
      (a, b) =>
        a.subject.mesh.localeCompare(b.subject.mesh) || a.subject.name.localeCompare(b.subject.name) || a.connectedAt - b.connectedAt,
    )
}

export interface StreamCounts {
  readonly total: number
  readonly sotw: number
  readonly delta: number
  readonly rejecting: number
  readonly pending: number
  readonly synced: number
  readonly meshes: readonly string[]
}

export function countStreams(sessions: readonly SessionRow[]): StreamCounts {
  const states = sessions.map(stateOf)
  const count = (wanted: string) => states.filter((state) => state === wanted).length
  return {
    total: sessions.length,
    sotw: sessions.filter(({ variant }) => variant === 'sotw').length,
    delta: sessions.filter(({ variant }) => variant === 'delta').length,
    rejecting: count('rejecting'),
    pending: count('pending'),
    synced: count('synced'),
    meshes: [...new Set(sessions.map(({ subject }) => subject.mesh))].sort(),
  }
}

/** In warming order, as the types of every stream are drawn. */
export const TYPES = ['CDS', 'EDS', 'LDS', 'RDS', 'SDS'] as const

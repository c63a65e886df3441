import { describe, expect, it } from 'vitest'
import type { SessionRow } from '../../server/model/views.ts'
import { countStreams, filterStreams, stateOf } from './stream-list.ts'

function sessionOf(name: string, statuses: readonly SessionRow['types'][number]['status'][], over: Partial<SessionRow> = {}): SessionRow {
  return {
    id: name,
    protocol: 'xds',
    variant: 'sotw',
    subject: { type: 'Dataplane', mesh: 'default', name },
    nodeId: `default.${name}`,
    peer: '127.0.0.1:1',
    connectedAt: 1,
    agent: null,
    direction: null,
    retryAt: null,
    refused: [],
    types: statuses.map((status, index) => ({
      type: ['CDS', 'EDS'][index] ?? 'LDS',
      sent: 1,
      acked: 1,
      nacked: 0,
      status,
      error: null,
      lastAt: 1,
      rejection: null,
      recovered: null,
    })),
    ...over,
  }
}
const all = { q: '', state: null, variant: null, mesh: null }

describe('a list of streams', () => {
  const sessions = [
    sessionOf('web-2', ['synced', 'pending']),
    sessionOf('web-1', ['rejected', 'pending'], { variant: 'delta' }),
    sessionOf('cart-1', ['synced'], { subject: { type: 'Dataplane', mesh: 'shop', name: 'cart-1' } }),
    sessionOf('cart-2', []),
  ]

  it('is in the state of its worst type', () => {
    expect(sessions.map(stateOf)).toEqual(['pending', 'rejecting', 'synced', 'synced'])
  })

  it('is ordered by mesh and name, whatever happens on the streams', () => {
    expect(filterStreams(sessions, all).map(({ id }) => id)).toEqual(['cart-2', 'web-1', 'web-2', 'cart-1'])
  })

  it('shows what fits all that is asked for', () => {
    expect(filterStreams(sessions, { ...all, q: 'WEB def' }).map(({ id }) => id)).toEqual(['web-1', 'web-2'])
    expect(filterStreams(sessions, { ...all, state: 'rejecting' }).map(({ id }) => id)).toEqual(['web-1'])
    expect(filterStreams(sessions, { ...all, variant: 'sotw', mesh: 'shop' }).map(({ id }) => id)).toEqual(['cart-1'])
    expect(filterStreams(sessions, { ...all, q: 'nobody' })).toEqual([])
  })

  it('is counted by state, variant and mesh', () => {
    expect(countStreams(sessions)).toEqual({
      total: 4,
      sotw: 3,
      delta: 1,
      rejecting: 1,
      pending: 1,
      synced: 2,
      meshes: ['default', 'shop'],
    })
  })
})

import { describe, expect, it } from 'vitest'
import type { SessionRow } from '../model/views.ts'
import { createSessionRegistry, type LiveSession } from './session-registry.ts'

function sessionOf(id: string, protocol: 'xds' | 'kds' = 'xds'): LiveSession & { readonly resyncs: (string | undefined)[] } {
  const resyncs: (string | undefined)[] = []
  const row: SessionRow = {
    id,
    protocol,
    variant: 'sotw',
    subject: { type: 'Dataplane', mesh: 'default', name: id },
    nodeId: `default.${id}`,
    peer: '127.0.0.1:1',
    connectedAt: 0,
    agent: null,
    direction: null,
    retryAt: null,
    refused: [],
    types: [],
  }
  return { id, protocol, row: () => row, resync: (type) => void resyncs.push(type), resyncs }
}

describe('the registry of live streams', () => {
  it('lists what is live, counts it by protocol, and forgets what ended', () => {
    const registry = createSessionRegistry()
    for (const session of [sessionOf('a'), sessionOf('b'), sessionOf('z', 'kds')]) registry.add(session)
    expect(registry.list().map(({ id }) => id)).toEqual(['a', 'b', 'z'])
    expect([registry.size(), registry.size('xds'), registry.size('kds')]).toEqual([3, 2, 1])
    for (const id of ['b', 'z', 'b', 'never']) registry.remove(id)
    expect([registry.size(), registry.size('xds'), registry.size('kds')]).toEqual([1, 1, 0])
    expect(registry.get('b')).toBeUndefined()
  })

  it('tells listeners which session moved, until they leave', () => {
    const registry = createSessionRegistry()
    const ending = new AbortController()
    const heard: string[] = []
    registry.onChange((id) => heard.push(id), ending.signal)
    registry.add(sessionOf('a'))
    registry.touched('a')
    registry.remove('a')
    registry.remove('a')
    ending.abort()
    registry.add(sessionOf('b'))
    expect(heard).toEqual(['a', 'a', 'a'])
  })

  it('passes a resync on, and names the session that is not there', () => {
    const registry = createSessionRegistry()
    const session = sessionOf('a')
    registry.add(session)
    registry.resync('a')
    registry.resync('a', 'CDS')
    expect(session.resyncs).toEqual([undefined, 'CDS'])
    expect(() => registry.resync('gone')).toThrow(/no session gone/)
  })
})

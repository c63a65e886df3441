import { describe, expect, it } from 'vitest'
import type { SessionRow, SessionTypeRow } from '../../server/model/views.ts'
import { matrixTypes, zonesOf } from './zones.ts'

const typeOf = (type: string, status: SessionTypeRow['status'] = 'synced'): SessionTypeRow => ({
  type,
  sent: 1,
  acked: 1,
  nacked: 0,
  status,
  error: null,
  lastAt: 1,
  rejection: null,
  recovered: null,
})
const stream = (id: string, types: readonly SessionTypeRow[], refused: SessionRow['refused'] = []): SessionRow => ({
  id,
  protocol: 'kds',
  variant: 'delta',
  subject: { type: 'Zone', mesh: '', name: id.split(' ')[0] ?? '' },
  nodeId: 'n',
  peer: 'p',
  connectedAt: 1,
  agent: 'tidewatch 1',
  direction: id.endsWith('up') ? 'up' : 'down',
  retryAt: null,
  refused,
  types,
})

describe('zones', () => {
  it('are their two streams together, in the worst state of both', () => {
    const refusal = { type: 'Mesh', name: 'late.', reason: 'no', since: 1, times: 1, oneOf: 1, kind: 'refused' as const }
    const zones = zonesOf([
      stream('west down', [typeOf('Mesh', 'pending')]),
      stream('east down', [typeOf('Mesh')], [refusal]),
      stream('east up', [typeOf('Dataplane')]),
      { ...stream('x down', []), protocol: 'xds' },
    ])
    expect(zones.map(({ name, state, up }) => [name, state, up?.id])).toEqual([
      ['east', 'rejecting', 'east up'],
      ['west', 'pending', undefined],
    ])
  })

  it('share one matrix, whose refused types come first', () => {
    const zones = zonesOf([
      stream('east down', [typeOf('Mesh'), typeOf('MeshTimeout', 'rejected')]),
      stream('west down', [typeOf('MeshRetry')]),
    ])
    expect(matrixTypes(zones, 'down')).toEqual(['MeshTimeout', 'Mesh', 'MeshRetry'])
    expect(matrixTypes(zones, 'up')).toEqual([])
  })
})

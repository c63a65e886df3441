import { describe, expect, it } from 'vitest'
import { freshnessAt } from '../model/freshness.ts'
import type { KubeObject, ManagedFieldsEntry } from './kube-object.ts'
import { parseObjectPath } from './object-path.ts'
import { recordedObject } from './testing/recorded.ts'
import { changedAt, nextObjectFacts, type ObjectFacts, watchedInsight } from './watched-insight.ts'

const START = Date.UTC(2026, 11, 1, 9)
const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
const node = { apiVersion: 'v1', kind: 'Node' }
const backup = { apiVersion: 'example.com/v1', kind: 'Backup' }

/** Follows one object as a watcher does, at moments a test chooses. */
function follow(named: { apiVersion: string; kind: string }, path?: { text: string; cadenceMs: number }) {
  const at = path === undefined ? undefined : { path: parseObjectPath(path.text)!, ...path }
  let facts: ObjectFacts | undefined
  let version = 0
  const insight = (other?: { heartbeatAt: number; heartbeatMs: number }) =>
    watchedInsight({ watcher: 'w', kind: named.kind, name: 'ns/x', version: String(version), facts: facts!, other })
  return {
    see(object: object, now: number) {
      version++
      const { metadata, ...rest } = object as Partial<KubeObject>
      facts = nextObjectFacts({ ...rest, metadata: { name: 'x', resourceVersion: String(version), ...metadata } }, facts, {
        now,
        named,
        rule: { at },
      })
      return insight()
    },
    insight,
    freshness: (now: number) => freshnessAt(insight(), now),
  }
}

describe('a Lease', () => {
  const recorded = recordedObject<KubeObject & { spec: object }>('lease.txt')

  it('is judged by when WE last saw it renewed, whatever its own clock says, and is stale past its own duration', () => {
    const watched = follow(lease)
    // Renewed at 08:00 by its clock, seen at 09:00 by ours.
    watched.see(recorded, START)
    expect(watched.freshness(START + 19_000)).toBe('fresh')
    expect(watched.freshness(START + 39_000)).toBe('late')
    expect(watched.freshness(START + 41_000)).toBe('stale')
    watched.see({ ...recorded, spec: { ...recorded.spec, renewTime: '2026-12-01T08:00:10.000000Z' } }, START + 42_000)
    expect(watched.freshness(START + 43_000)).toBe('fresh')
  })

  it('is not renewed by a change of something else', () => {
    const watched = follow(lease)
    watched.see(recorded, START)
    watched.see({ ...recorded, metadata: { ...recorded.metadata, annotations: { a: 'b' } } }, START + 30_000)
    expect(watched.insight().heartbeatAt).toBe(START)
  })

  it('is offline when its holder has released it', () => {
    const watched = follow(lease)
    const insight = watched.see({ spec: { holderIdentity: '', leaseDurationSeconds: 1 } }, START)
    expect(insight).toMatchObject({ online: false, offlineSince: START })
  })
})

describe('a Node', () => {
  const withBeat = (beat: string, ready = 'True') => ({
    status: {
      conditions: [
        { type: 'MemoryPressure', status: 'False', lastHeartbeatTime: beat },
        { type: 'Ready', status: ready, reason: 'KubeletReady', lastHeartbeatTime: beat, lastTransitionTime: '2026-12-01T08:59:00Z' },
      ],
    },
  })

  it('is judged by the status its kubelet reports every 5 minutes', () => {
    const watched = follow(node)
    watched.see(withBeat('2026-12-01T09:00:00Z'), START)
    expect(watched.freshness(START + 440_000)).toBe('fresh')
    expect(watched.freshness(START + 460_000)).toBe('late')
    expect(watched.freshness(START + 901_000)).toBe('stale')
    watched.see(withBeat('2026-12-01T09:15:02Z'), START + 902_000)
    expect(watched.freshness(START + 902_000)).toBe('fresh')
  })

  it('is as old as its status says when it is first seen', () => {
    const watched = follow(node)
    watched.see(withBeat('2026-12-01T08:00:00Z'), START)
    expect(watched.freshness(START)).toBe('stale')
  })

  it('is judged by its lease where that is watched', () => {
    const watched = follow(node)
    watched.see(withBeat('2026-12-01T09:00:00Z'), START)
    expect(watched.insight({ heartbeatAt: START + 1_000, heartbeatMs: 13_000 })).toMatchObject({
      heartbeatAt: START + 1_000,
      heartbeatMs: 13_000,
    })
  })

  it('is offline when the control plane has lost it, and says what it complains of', () => {
    const watched = follow(node)
    expect(watched.see(withBeat('2026-12-01T09:00:00Z', 'Unknown'), START)).toMatchObject({
      online: false,
      offlineSince: Date.UTC(2026, 11, 1, 8, 59),
      note: 'Ready is Unknown (KubeletReady).',
    })
  })

  it('is unknown before its first status', () => {
    const watched = follow(node)
    watched.see({}, START)
    expect(watched.freshness(START)).toBe('unknown')
  })
})

describe('what follows a generation', () => {
  const at = (generation: number, observedGeneration: number | undefined) => ({
    metadata: { name: 'x', resourceVersion: '1', generation, creationTimestamp: '2026-12-01T08:00:00Z' },
    status: { observedGeneration },
  })

  it('is behind since its generation moved, until its controller has seen it', () => {
    const watched = follow(backup)
    watched.see(at(1, 1), START)
    expect(watched.freshness(START + 3_600_000)).toBe('fresh')
    watched.see(at(2, 1), START + 3_600_000)
    watched.see(at(3, 1), START + 3_610_000)
    expect(watched.insight().pendingSince).toBe(START + 3_600_000)
    expect(watched.freshness(START + 3_616_000)).toBe('late')
    expect(watched.freshness(START + 3_631_000)).toBe('stale')
    expect(watched.see(at(3, 3), START + 3_632_000).pendingSince).toBeNull()
    expect(watched.freshness(START + 3_632_000)).toBe('fresh')
  })

  it('is behind since its spec was last written, as far as it says, when it is first seen so', () => {
    const watched = follow(backup)
    expect(watched.see(at(2, 1), START).pendingSince).toBe(START - 3_600_000)
  })

  it('takes the generation its conditions have seen where its status says none', () => {
    const conditions = [
      { type: 'Accepted', status: 'True', observedGeneration: 4 },
      { type: 'Programmed', status: 'False', observedGeneration: 3 },
    ]
    const insight = follow(backup).see({ metadata: { name: 'x', resourceVersion: '1', generation: 4 }, status: { conditions } }, START)
    expect(insight.pendingSince).toBe(START)
    expect(insight.note).toBe('Programmed is False. Its controller has seen generation 3 of it, and 4 is asked for.')
    expect(insight.complaints).toEqual(['Programmed is False.'])
  })

  it('is unknown where nothing tells, and says how to tell', () => {
    const watched = follow({ apiVersion: 'v1', kind: 'ConfigMap' })
    expect(watched.see({}, START).note).toContain('freshness: { path, cadenceMs }')
    expect(watched.freshness(START)).toBe('unknown')
  })
})

describe('a path to a moment', () => {
  it('is judged by that moment and its cadence', () => {
    const watched = follow(backup, { text: '.status.lastRun', cadenceMs: 3_600_000 })
    watched.see({ status: { lastRun: '2026-12-01T08:30:00Z' } }, START)
    expect(watched.insight()).toMatchObject({ heartbeatAt: START - 1_800_000, heartbeatMs: 3_600_000 })
    expect(watched.freshness(START + 3_590_000)).toBe('fresh')
    expect(watched.freshness(START + 3_700_000)).toBe('late')
  })

  it('is unknown, and says why, where there is nothing or no moment', () => {
    const watched = follow(backup, { text: '.status.lastRun', cadenceMs: 1_000 })
    expect(watched.see({}, START)).toMatchObject({ heartbeatAt: 0, note: 'There is nothing at .status.lastRun yet.' })
    expect(watched.see({ status: { lastRun: 'soon' } }, START)).toMatchObject({
      heartbeatAt: 0,
      note: 'What is at .status.lastRun is no moment: "soon".',
    })
  })

  it.each([
    ['.status.lastRun', { status: { lastRun: 1 } }, 1],
    ['{.status.lastRun}', { status: { lastRun: 1 } }, 1],
    ['$.status["last.run"]', { status: { 'last.run': 1 } }, 1],
    ["metadata.annotations['example.com/at']", { metadata: { annotations: { 'example.com/at': 1 } } }, 1],
    ['.runs[1].at', { runs: [{ at: 0 }, { at: 1 }] }, 1],
    ['.status.conditions[?(@.type=="Ready")].at', { status: { conditions: [{ type: 'Synced' }, { type: 'Ready', at: 1 }] } }, 1],
    ['.constructor', {}, undefined],
  ])('%s is read', (text, object, value) => {
    expect(parseObjectPath(text)?.read(object)).toBe(value)
  })

  it.each(['..a', '.a[', '.a[*]', '.a b', '.a[?(@.b>1)]'])('%s is none', (text) => {
    expect(parseObjectPath(text)).toBeUndefined()
  })
})

describe("a Kuma insight's", () => {
  const kuma = { apiVersion: 'kuma.io/v1alpha1', kind: 'DataplaneInsight' }
  const withCds = (
    generation: number,
    rejected: string,
    { acknowledged = '3', disconnectTime }: { acknowledged?: string; disconnectTime?: string } = {},
  ) => ({
    status: {
      subscriptions: [
        { id: 's1', disconnectTime: '2026-12-01T08:00:00Z', generation: 9 },
        {
          id: 's2',
          generation,
          disconnectTime,
          status: { total: {}, cds: { responsesRejected: rejected, responsesAcknowledged: acknowledged } },
        },
      ],
    },
  })

  it('heartbeat is its generation as we see it move', () => {
    const watched = follow(kuma)
    watched.see(withCds(1, '0'), START)
    watched.see(withCds(1, '0'), START + 100_000)
    expect(watched.insight()).toMatchObject({ online: true, heartbeatAt: START, heartbeatMs: 150_000 })
    expect(watched.see(withCds(2, '0'), START + 150_000).heartbeatAt).toBe(START + 150_000)
    expect(watched.see(withCds(2, '0', { disconnectTime: '2026-12-01T09:03:00Z' }), START + 200_000)).toMatchObject({
      online: false,
      offlineSince: START + 180_000,
    })
  })

  it('types are rejected while refusals grow, or where nothing was ever acknowledged, until something is', () => {
    const watched = follow(kuma)
    expect(watched.see(withCds(1, '2'), START).nacked).toEqual([])
    expect(watched.see(withCds(1, '3'), START).nacked).toEqual(['cds'])
    expect(watched.see(withCds(2, '3'), START).nacked).toEqual(['cds'])
    expect(watched.see(withCds(2, '3', { acknowledged: '4' }), START).nacked).toEqual([])
    expect(follow(kuma).see(withCds(1, '1', { acknowledged: '0' }), START).nacked).toEqual(['cds'])
  })
})

describe('writers', () => {
  const entry = (manager: string, second: number, fieldsV1: object = {}): ManagedFieldsEntry => ({
    manager,
    operation: 'Update',
    subresource: 'status',
    time: new Date(START + second * 1000).toISOString(),
    fieldsV1,
  })
  const written = (...managedFields: ManagedFieldsEntry[]) => ({
    metadata: { name: 'x', resourceVersion: '1', generation: 1, managedFields },
    status: { observedGeneration: 1 },
  })

  it('are who wrote last and when, as recorded', () => {
    const object = recordedObject<KubeObject>('update-ok-managed-fields.txt')
    expect(follow({ apiVersion: 'v1', kind: 'ConfigMap' }).see(object, START)).toMatchObject({
      writer: 'writer-a',
      modifiedAt: Date.UTC(2026, 11, 1, 8, 26, 24),
    })
  })

  it('are unknown where the object does not say, which is not nobody', () => {
    expect(follow(backup).see(written(), START).writer).toBe('unknown')
  })

  it('who write one subresource in turn are contenders, within one second too', () => {
    const watched = follow(backup)
    watched.see(written(entry('a', 0, { v: {} })), START)
    watched.see(written(entry('a', 0, {}), entry('b', 0, { v: {} })), START)
    watched.see(written(entry('a', 0, { v: {} }), entry('b', 0, {})), START)
    expect(watched.insight().note).toBeUndefined()
    const insight = watched.see(written(entry('a', 0, {}), entry('b', 3, { v: {} })), START + 3_000)
    expect(insight.note).toBe('b and a write its status in turn: the last writes were by b, a, b.')
    expect(insight.contenders).toEqual(['a', 'b'])
    expect(insight.writes?.map(({ writer }) => writer)).toEqual(['b', 'a', 'b'])
    expect(insight).toMatchObject({ writer: 'b', modifiedAt: START + 3_000 })
  })

  it('of different parts are none', () => {
    const watched = follow(backup)
    const ofObject = (manager: string, second: number) => ({ ...entry(manager, second), subresource: '' })
    watched.see(written(entry('a', 0)), START)
    watched.see(written(entry('a', 0), ofObject('b', 1)), START)
    watched.see(written(entry('a', 2), ofObject('b', 1)), START)
    watched.see(written(entry('a', 2), ofObject('b', 3)), START)
    expect(watched.insight().note).toBeUndefined()
  })
})

describe('when it was changed over there', () => {
  it('is to the microsecond for a lease, and the end of the second for others, so that no lag is made up', () => {
    const spec = { renewTime: '2026-12-01T09:00:00.250000Z' }
    expect(changedAt({ metadata: { name: 'x', resourceVersion: '1' }, spec }, START + 1_000)).toBe(START + 250)
    const managedFields = [{ time: '2026-12-01T08:59:00Z' }, { time: '2026-12-01T09:00:00Z' }]
    expect(changedAt({ metadata: { name: 'x', resourceVersion: '1', managedFields } }, START + 5_000)).toBe(START + 999)
  })

  it('is not told by what is old or absent', () => {
    expect(changedAt({ metadata: { name: 'x', resourceVersion: '1' } }, START)).toBeUndefined()
    const managedFields = [{ time: '2026-12-01T07:00:00Z' }]
    expect(changedAt({ metadata: { name: 'x', resourceVersion: '1', managedFields } }, START)).toBeUndefined()
  })
})

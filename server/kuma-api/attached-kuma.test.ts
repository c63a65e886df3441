import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { type Attention, createAttention } from '../link/attention.ts'
import type { LinkAttempt } from '../link/connector.ts'
import { LinkFailure } from '../link/link-failure.ts'
import { freshnessAt } from '../model/freshness.ts'
import type { ObservedInsight } from '../model/observed-insight.ts'
import { type AttachedKuma, createAttachedKuma } from './attached-kuma.ts'
import type { KumaClient } from './kuma-client.ts'
import { type Recording, recorded } from './testing/recorded-kuma.ts'

const DATAPLANES = '/meshes/default/dataplanes/_overview'

let clock: FakeClock
let attention: Attention
let answers: Record<string, unknown>
let reads: string[]
let progress: string[]
let attached: AttachedKuma
let stopping: AbortController
let connected: Promise<void>
const insights = new Map<string, ObservedInsight>()

beforeEach(() => {
  clock = createFakeClock()
  attention = createAttention(clock)
  reads = []
  progress = []
  insights.clear()
  stopping = new AbortController()
})
afterEach(async () => {
  stopping.abort()
  await connected.catch(() => {})
})

/** Answers at once with what was recorded, or what a test put in its place. */
const client: KumaClient = {
  read(path) {
    reads.push(path)
    const answer = answers[path]
    if (answer instanceof LinkFailure) return Promise.reject(answer)
    return Promise.resolve(answer as Readonly<Record<string, unknown>>)
  },
  list(path) {
    reads.push(path)
    return Promise.resolve(answers[path] as readonly unknown[] | undefined)
  },
  metrics: () => Promise.reject(new LinkFailure('network', 'http://127.0.0.1:5680/metrics: connect ECONNREFUSED')),
}

async function attach(recording: Recording, { metricsUrl }: { metricsUrl?: string } = {}): Promise<void> {
  answers = recorded(recording)
  attached = createAttachedKuma(
    {
      clock,
      client,
      attention,
      insights: {
        set: (insight) => void insights.set(`${insight.key.type} ${insight.key.name}`, insight),
        remove: ({ type, name }) => void insights.delete(`${type} ${name}`),
      },
    },
    { id: 'prod', url: 'http://127.0.0.1:5681', intervalMs: 10_000, ...(metricsUrl !== undefined && { metricsUrl }) },
  )
  connected = attached.link.connector.connect(recordingAttempt())
  connected.catch(() => {})
  await clock.advance(0)
}

function recordingAttempt(): LinkAttempt {
  return {
    signal: stopping.signal,
    number: 1,
    syncing: () => void progress.push(`syncing after ${reads.join()}`),
    live: () => void progress.push('live'),
    bad: (what) => void progress.push(what),
    event: (kind) => void progress.push(kind),
    listTurn: () => Promise.resolve(() => {}),
    bookmark() {},
    request() {},
    relist() {},
    objects() {},
    note() {},
  }
}

const timesRead = (path: string) => reads.filter((each) => each === path).length

describe('an attached control plane', () => {
  it('counts as connected once it has answered', async () => {
    await attach('v2.14-zone')
    expect(progress[0]).toBe('syncing after /')
    expect(progress).toContain('live')
  })

  it('is asked for its data planes once a minute while nobody looks, and at its flush interval while somebody looks at their mesh', async () => {
    await attach('v2.14-global')
    await clock.advance(59_000)
    expect(timesRead(DATAPLANES)).toBe(1)
    await clock.advance(2_000)
    expect(timesRead(DATAPLANES)).toBe(2)
    const elsewhere = attention.hold('prod', 'other')
    await clock.advance(40_000)
    expect(timesRead(DATAPLANES)).toBe(2)
    elsewhere()
    const lookAway = attention.hold('prod', 'default')
    await clock.advance(0)
    expect(timesRead(DATAPLANES)).toBe(3)
    await clock.advance(30_000)
    expect(timesRead(DATAPLANES)).toBe(6)
    lookAway()
  })

  it('whose heartbeats move often is read often enough to see them', async () => {
    await attach('v2.14-zone')
    answers['/config'] = { mode: 'zone', metrics: { dataplane: { idleTimeout: '80s' } } }
    await clock.advance(61_000)
    const before = timesRead(DATAPLANES)
    await clock.advance(60_000)
    expect(timesRead(DATAPLANES) - before).toBe(3)
    expect(insights.get('DataplaneInsight prod/online-dp')?.heartbeatMs).toBe(40_000)
  })

  it('tells nothing anew of what did not change', async () => {
    await attach('v2.14-global')
    const { length } = progress
    await clock.advance(180_000)
    expect(progress.slice(length)).toEqual([])
  })

  it('has a mesh behind only for as long as it counts others than are listed, looked into at each poll', async () => {
    await attach('v2.14-global')
    const mesh = () => insights.get('MeshInsight prod/default')
    expect(mesh()?.pendingSince).toBeNull()
    const listed = answers[DATAPLANES] as unknown[]
    answers[DATAPLANES] = listed.slice(1)
    await clock.advance(60_000)
    expect(mesh()?.pendingSince).toBe(clock.now())
    expect(mesh()?.note).toContain('KUMA_METRICS_MESH_FULL_RESYNC_INTERVAL')
    await clock.advance(20_000)
    expect(freshnessAt(mesh()!, clock.now())).toBe('fresh')
    answers[DATAPLANES] = listed
    await clock.advance(10_000)
    expect(mesh()?.pendingSince).toBeNull()
  })

  it('that may not tell its configuration is judged by defaults, and that is said', async () => {
    await attach('v2.14-zone')
    answers['/config'] = new LinkFailure('forbidden', 'HTTP 403 of /config')
    await clock.advance(60_000)
    expect(progress).toContain("/config: HTTP 403 of /config; Kuma's defaults are assumed")
    const insight = insights.get('DataplaneInsight prod/online-dp')!
    expect(freshnessAt(insight, clock.now())).toBe('unknown')
    expect(insight.note).toContain('does not tell whether it is a global or a zone')
    expect(attached.link.facts?.()[1]?.facts[0]?.value).toContain('10s (its default: it does not say)')
  })

  it('names what it cannot read and goes on with the rest', async () => {
    await attach('v2.14-global')
    answers[DATAPLANES] = [...(answers[DATAPLANES] as unknown[]), { type: 'DataplaneOverview' }]
    answers['/zones/_overview'] = [...(answers['/zones/_overview'] as unknown[]), null]
    await clock.advance(60_000)
    expect(progress).toContain('a data plane without a name or mesh: {"type":"DataplaneOverview"}')
    expect(progress).toContain('a zone without a name: null')
    expect(insights.has('DataplaneInsight prod/zone-1/online-dp')).toBe(true)
  })

  it('whose metrics cannot be read is live all the same, and its detail names where they were looked for', async () => {
    await attach('v2.14-zone', { metricsUrl: 'http://127.0.0.1:5680/metrics' })
    expect(progress).toContain('live')
    expect(attached.link.facts?.().at(-1)).toEqual({
      title: 'Its metrics',
      facts: [{ label: 'not read', value: 'http://127.0.0.1:5680/metrics: connect ECONNREFUSED' }],
    })
  })

  it('lists its zones with the intervals that each of them said it has', async () => {
    await attach('v2.14-global')
    expect(attached.zones()).toMatchObject([
      {
        source: 'prod',
        name: 'zone-1',
        online: true,
        dataplanes: { total: 8, online: 6 },
        settings: [
          { of: 'zone zone-1', path: 'xdsServer.dataplaneStatusFlushInterval', value: '10s' },
          { of: 'the global', path: 'multizone.global.kds.zoneInsightFlushInterval' },
        ],
      },
    ])
  })

  it('is asked nothing more once it is stopped, and leaves no timer behind', async () => {
    await attach('v2.14-zone')
    stopping.abort(new Error('over'))
    await expect(connected).rejects.toThrow('over')
    const { length } = reads
    await clock.advance(60_000)
    expect(reads).toHaveLength(length)
    expect(clock.pending()).toBe(0)
  })

  it('forgets what is gone', async () => {
    await attach('v2.14-zone')
    answers['/meshes'] = []
    await clock.advance(10_000)
    expect([...insights.keys()].filter((key) => key.startsWith('DataplaneInsight'))).toEqual([])
    expect(progress).toContain('deleted')
  })
})

import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { DeltaRequest } from './delta-state.ts'
import {
  createDeltaSession,
  createSotwSession,
  type DiscoveryResource,
  type DiscoverySession,
  type DiscoveryType,
} from './discovery-session.ts'
import type { SotwRequest } from './sotw-state.ts'

const types: readonly DiscoveryType[] = [
  { type: 'cluster', short: 'CDS', hasFullSet: true, followedBy: 'endpoints' },
  { type: 'endpoints', short: 'EDS', hasFullSet: false },
  { type: 'listener', short: 'LDS', hasFullSet: true, followedBy: 'route' },
  { type: 'route', short: 'RDS', hasFullSet: false },
]
const BACKOFF = 5_000

/** A stream of either variant whose peer is asked to say things in one way. */
function streamOf(variant: 'sotw' | 'delta') {
  const clock = createFakeClock()
  const world: Record<string, Record<string, string>> = {
    cluster: { backend: '1', search: '1' },
    endpoints: { backend: '1', search: '1' },
    listener: { out: '1' },
    route: { out: '1' },
  }
  const counts: string[] = []
  const deps = {
    presentOf(type: string) {
      const own = new Map(
        Object.entries(world[type] ?? {}).map(([name, version]): [string, DiscoveryResource] => [name, { name, version, needs: [name] }]),
      )
      return { own, find: (name: string) => own.get(name) }
    },
    types,
    clock,
    nackBackoffMs: () => BACKOFF,
    onCount: (type: string, what: string) => void counts.push(`${type} ${what}`),
  }
  const session: DiscoverySession<DiscoveryResource> = variant === 'sotw' ? createSotwSession(deps) : createDeltaSession(deps)
  const nonces: Record<string, string> = {}
  const subscribed: Record<string, readonly string[]> = {}
  const said = (answers: ReturnType<typeof session.push>) =>
    answers.map(({ type, nonce, resources }) => {
      nonces[type] = nonce
      return `${type}: ${resources
        .map(({ name, version }) => `${name}${version}`)
        .sort()
        .join(' ')}`
    })
  return {
    clock,
    world,
    counts,
    session,
    ask(type: string, names: readonly string[] = []) {
      subscribed[type] = names
      return said(session.handle(type, request({ names })))
    },
    answer(type: string, rejection?: string) {
      const names = variant === 'sotw' ? (subscribed[type] ?? []) : []
      return said(session.handle(type, request({ names, nonce: nonces[type] ?? '', rejection })))
    },
    push: () => said(session.push()),
    resync: (type?: string) => said(session.resync(type)),
  }

  function request({
    names,
    nonce = '',
    rejection,
  }: Partial<SotwRequest> & { readonly names: readonly string[] }): SotwRequest | DeltaRequest {
    if (variant === 'sotw') return { names, nonce, rejection }
    return { subscribe: names, unsubscribe: [], initialVersions: {}, nonce, rejection }
  }
}

for (const variant of ['sotw', 'delta'] as const) {
  /** State of the world sends the rest along. */
  const withOthers = variant === 'sotw' ? 'backend1 ' : ''

  describe(`a stream (${variant})`, () => {
    it('answers each type by itself: a type that waits for its ACK holds up no other', () => {
      const { ask, answer } = streamOf(variant)
      expect(ask('cluster')).toEqual(['cluster: backend1 search1'])
      expect(ask('endpoints', ['backend'])).toEqual(['endpoints: backend1'])
      expect(answer('cluster')).toEqual([])
      expect(ask('listener')).toEqual(['listener: out1'])
    })

    it('sends what changed together in an order that can be applied: clusters, endpoints, listeners, routes', () => {
      const { ask, push, world } = streamOf(variant)
      for (const type of ['route', 'listener', 'endpoints', 'cluster'])
        ask(type, type === 'cluster' || type === 'listener' ? [] : Object.keys(world[type]!))
      for (const type of Object.keys(world)) world[type] = Object.fromEntries(Object.keys(world[type]!).map((name) => [name, '2']))
      expect(push().map((line) => line.split(':')[0])).toEqual(['cluster', 'endpoints', 'listener', 'route'])
    })

    it('lets the endpoints of a changed cluster follow it when it is sent again after a refusal, and is then accepted', async () => {
      const { ask, answer, push, world, clock, session } = streamOf(variant)
      ask('cluster')
      ask('endpoints', ['backend', 'search'])
      answer('cluster')
      answer('endpoints')
      world['cluster'] = { backend: '1', search: '2' }
      expect(push()).toEqual([`cluster: ${withOthers}search2`, `endpoints: ${withOthers}search1`])
      answer('cluster', 'no such filter yet')
      answer('endpoints')
      expect(push()).toEqual([])
      expect(session.deadline()).toBe(clock.monotonic() + BACKOFF)
      await clock.advance(BACKOFF)
      expect(push().map((line) => line.split(':')[0])).toEqual(['cluster', 'endpoints'])
      answer('cluster')
      expect(session.deadline()).toBeUndefined()
      expect(push()).toEqual([])
    })

    it('lets them follow as well when the changed cluster goes out with a new subscription', () => {
      const { ask, answer, world } = streamOf(variant)
      ask('cluster', ['backend'])
      ask('endpoints', ['backend'])
      answer('cluster')
      answer('endpoints')
      world['cluster'] = { backend: '2', search: '1' }
      const answers = ask('cluster', ['backend', 'search'])
      expect(answers[0]).toBe('cluster: backend2 search1')
      expect(answers[1]).toBe('endpoints: backend1')
    })

    it('tells one refusal apart from a lasting one, and says since when and how often', async () => {
      const { ask, answer, push, clock, session } = streamOf(variant)
      ask('cluster')
      const since = clock.now()
      answer('cluster', 'bad')
      await clock.advance(BACKOFF)
      push()
      answer('cluster', 'still bad')
      expect(session.status()['CDS']).toMatchObject({
        nacked: 2,
        rejection: { reason: 'still bad', since, times: 2, resources: ['backend', 'search'] },
      })
      await clock.advance(BACKOFF)
      push()
      answer('cluster')
      const { rejection, recovered } = session.status()['CDS']!
      expect(rejection).toBeUndefined()
      expect(recovered).toMatchObject({ reason: 'still bad', since, until: clock.now() })
    })

    it('sends everything, or one type, again at once when an operator asks', () => {
      const { ask, answer, resync } = streamOf(variant)
      ask('cluster')
      ask('endpoints', ['backend'])
      answer('cluster', 'bad')
      expect(resync('endpoints')).toEqual(['endpoints: backend1'])
      expect(resync()).toEqual(['cluster: backend1 search1', 'endpoints: backend1'])
    })

    it('counts what it sent and what came of it, each once', () => {
      const { ask, answer, counts, session } = streamOf(variant)
      ask('cluster')
      answer('cluster')
      answer('cluster')
      expect(counts).toEqual(['cluster sent', 'cluster ack'])
      expect(session.status()['CDS']).toMatchObject({ sent: 1, acked: 1, nacked: 0 })
    })

    it('waits for the answer to its newest response, not for one that was overtaken', () => {
      const { ask, answer, push, world, session } = streamOf(variant)
      ask('cluster')
      expect([...session.unanswered()]).toEqual(['CDS'])
      world['cluster'] = { backend: '2', search: '1' }
      push()
      expect([...session.unanswered()]).toEqual(['CDS'])
      answer('cluster')
      expect([...session.unanswered()]).toEqual(variant === 'sotw' ? [] : ['CDS'])
    })

    it('knows what its peer asked for by name', () => {
      const { ask, session } = streamOf(variant)
      ask('cluster')
      ask('listener', ['out'])
      expect(session.names(new Set(['backend']))).toBe(false)
      expect(session.names(new Set(['backend', 'out']))).toBe(true)
    })
  })
}

describe('a delta peer', () => {
  it('that refused a new version is told when the resource goes: it still has the one before', async () => {
    const { ask, answer, world, clock, session } = streamOf('delta')
    ask('cluster')
    answer('cluster')
    world['cluster'] = { backend: '1', search: '2' }
    const [changed] = session.push()
    session.handle('cluster', { subscribe: [], unsubscribe: [], initialVersions: {}, nonce: changed!.nonce, rejection: 'bad' })
    world['cluster'] = { backend: '1' }
    await clock.advance(BACKOFF)
    expect(session.push()).toMatchObject([{ variant: 'delta', resources: [], removed: ['search'] }])
  })
})

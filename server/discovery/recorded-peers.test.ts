import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { Present } from './discovery.ts'
import {
  type Answer,
  createDeltaSession,
  createSotwSession,
  type DiscoveryResource,
  type DiscoverySession,
  type DiscoveryType,
} from './discovery-session.ts'

/** What the recording says in words; enough to replay the peer's half. */
interface Recorded {
  readonly t: number
  readonly s?: number
  readonly dir: string
  readonly brief?: string
}
interface PeerMessage {
  readonly type: string
  readonly names: readonly string[]
  readonly unsubscribe: readonly string[]
  readonly initial: Readonly<Record<string, string>>
  readonly nonce: string
  readonly error: string | undefined
}

const types: readonly DiscoveryType[] = [
  { type: 'Cluster', short: 'CDS', hasFullSet: true, followedBy: 'ClusterLoadAssignment' },
  { type: 'ClusterLoadAssignment', short: 'EDS', hasFullSet: false },
  { type: 'Listener', short: 'LDS', hasFullSet: true, followedBy: 'RouteConfiguration' },
  { type: 'RouteConfiguration', short: 'RDS', hasFullSet: false },
]

function recordingOf(name: string): readonly Recorded[] {
  return readFileSync(join(import.meta.dirname, 'recorded', `${name}.jsonl`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Recorded)
}

/** Names of the recorded server's nonces are its own: each is the nth answer of its stream, and so is ours. */
function parse(brief: string): PeerMessage {
  const field = (name: string) =>
    new RegExp(`${name}=('(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\]|\\{[^}]*\\})`).exec(brief)?.[1] ?? ''
  const list = (name: string) => [...field(name).matchAll(/'([^']*)'/g)].map(([, each]) => each ?? '')
  const text = (name: string) => field(name).slice(1, -1)
  const error = text('err')
  return {
    type: brief.split(' ', 1)[0] ?? '',
    names: list('names').concat(list(' sub')),
    unsubscribe: list('unsub'),
    initial: Object.fromEntries([...field('init').matchAll(/'([^']*)': '([^']*)'/g)].map(([, name = '', version = '']) => [name, version])),
    // The delta recording writes it without quotes.
    nonce: / nonce='?(\w*)'?/.exec(brief)?.[1] ?? '',
    error: error === '' ? undefined : error,
  }
}

function world(versions: Record<string, Record<string, string>>) {
  return (type: string): Present<DiscoveryResource> => {
    const own = new Map(
      Object.entries(versions[type] ?? {}).map(([name, version]) => [name, { name, version, needs: type === 'Cluster' ? [name] : [] }]),
    )
    return { own, find: (name) => own.get(name) }
  }
}
const namesOf = (answer: Answer<DiscoveryResource> | undefined) =>
  answer?.resources
    .map(({ name }) => name)
    .sort()
    .join(' ') ?? ''

describe('a recorded Envoy, state of the world', () => {
  const peer = recordingOf('envoy-sotw')
    .filter(({ dir, s }) => dir === 'envoy>server' && s === 1)
    .map(({ brief = '' }) => parse(brief))

  it('asks for endpoints before it acknowledges the clusters, and gets them', () => {
    expect(peer.slice(0, 4).map(({ type, nonce }) => `${type} ${nonce === '' ? 'asks' : 'answers'}`)).toEqual([
      'Cluster asks',
      'ClusterLoadAssignment asks',
      'Cluster answers',
      'Listener asks',
    ])
    const session = replay(peer.slice(0, 8), {
      Cluster: { backend: '1' },
      ClusterLoadAssignment: { backend: '1' },
      Listener: { outbound: '1' },
      RouteConfiguration: { outbound: '1' },
    })
    expect(session.answers.map((answer) => `${answer.type} ${namesOf(answer)}`)).toEqual([
      'Cluster backend',
      'ClusterLoadAssignment backend',
      'Listener outbound',
      'RouteConfiguration outbound',
    ])
    expect(Object.values(session.status()).map(({ sent, acked, nacked }) => [sent, acked, nacked])).toEqual([
      [1, 1, 0],
      [1, 1, 0],
      [1, 1, 0],
      [1, 1, 0],
    ])
  })

  function replay(messages: readonly PeerMessage[], versions: Record<string, Record<string, string>>) {
    const clock = createFakeClock()
    const session = createSotwSession<DiscoveryResource>({ presentOf: world(versions), types, clock, nackBackoffMs: () => 5_000 })
    const answers: Answer<DiscoveryResource>[] = []
    for (const { type, names, nonce, error } of messages) answers.push(...session.handle(type, { names, nonce, rejection: error }))
    return Object.assign(session, { answers })
  }
})

describe('a recorded Envoy, delta', () => {
  const peerOf = (stream: number) =>
    recordingOf('envoy-delta')
      .filter(({ dir, s }) => dir === 'envoy>server' && s === stream)
      .map(({ brief = '' }) => parse(brief))
  const versions = {
    Cluster: { backend: 'c1' },
    ClusterLoadAssignment: { backend: 'e2' },
    Listener: { outbound: 'l1' },
    RouteConfiguration: { outbound: 'r1' },
  }
  function replay(messages: readonly PeerMessage[]) {
    const session = createDeltaSession<DiscoveryResource>({
      presentOf: world(versions),
      types,
      clock: createFakeClock(),
      nackBackoffMs: () => 5_000,
    })
    const answers = messages.flatMap(({ type, names, unsubscribe, initial, nonce, error }) =>
      session.handle(type, { subscribe: names, unsubscribe, initialVersions: initial, nonce, rejection: error }),
    )
    return { session, answers }
  }

  it('is sent everything once on its first connection, and acknowledges it', () => {
    const { session, answers } = replay(peerOf(1).slice(0, 8))
    expect(answers.map((answer) => `${answer.type} ${namesOf(answer)}`)).toEqual([
      'Cluster backend',
      'ClusterLoadAssignment backend',
      'Listener outbound',
      'RouteConfiguration outbound',
    ])
    expect(Object.values(session.status()).map(({ sent, acked }) => [sent, acked])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
      [1, 1],
    ])
  })

  it('is told in an empty answer per type that it lacks nothing when it comes back with its versions', () => {
    const { session, answers } = replay(peerOf(2))
    expect(
      answers.map(({ resources, ...answer }) => [answer.type, resources.length, 'removed' in answer && answer.removed.length]),
    ).toEqual([
      ['Cluster', 0, 0],
      ['ClusterLoadAssignment', 0, 0],
      ['Listener', 0, 0],
      ['RouteConfiguration', 0, 0],
    ])
    expect(Object.values(session.status()).every(({ sent, acked, nacked }) => sent === 1 && acked === 1 && nacked === 0)).toBe(true)
  })
})

describe('a changed cluster', () => {
  const versions: Record<string, Record<string, string>> = {
    Cluster: { backend: '1', search: '1' },
    ClusterLoadAssignment: { backend: '1', search: '1' },
  }
  const open: Record<'sotw' | 'delta', () => DiscoverySession<DiscoveryResource>> = {
    sotw() {
      const session = createSotwSession<DiscoveryResource>({
        presentOf: world(versions),
        types,
        clock: createFakeClock(),
        nackBackoffMs: () => 5_000,
      })
      const [clusters] = session.handle('Cluster', { names: [], nonce: '', rejection: undefined })
      const [endpoints] = session.handle('ClusterLoadAssignment', { names: ['backend', 'search'], nonce: '', rejection: undefined })
      session.handle('Cluster', { names: [], nonce: clusters!.nonce, rejection: undefined })
      session.handle('ClusterLoadAssignment', { names: ['backend', 'search'], nonce: endpoints!.nonce, rejection: undefined })
      return session
    },
    delta() {
      const session = createDeltaSession<DiscoveryResource>({
        presentOf: world(versions),
        types,
        clock: createFakeClock(),
        nackBackoffMs: () => 5_000,
      })
      const ask = { subscribe: [], unsubscribe: [], initialVersions: {}, nonce: '', rejection: undefined }
      const [clusters] = session.handle('Cluster', ask)
      const [endpoints] = session.handle('ClusterLoadAssignment', { ...ask, subscribe: ['backend', 'search'] })
      session.handle('Cluster', { ...ask, nonce: clusters!.nonce })
      session.handle('ClusterLoadAssignment', { ...ask, nonce: endpoints!.nonce })
      return session
    },
  }

  for (const variant of ['sotw', 'delta'] as const) {
    it(`is followed by its endpoints at once, though they did not change (${variant})`, () => {
      versions['Cluster'] = { backend: '1', search: '1' }
      const session = open[variant]()
      expect(session.push()).toEqual([])
      versions['Cluster'] = { backend: '1', search: '2' }
      const answers = session.push()
      expect(answers.map(({ type }) => type)).toEqual(['Cluster', 'ClusterLoadAssignment'])
      expect(namesOf(answers[1])).toContain('search')
      expect(session.push()).toEqual([])
    })
  }
})

describe('a recorded gRPC client', () => {
  it('asks by name, listener, route, cluster, endpoints in turn, and each is answered by name alone', () => {
    const peer = recordingOf('grpc-core-sotw')
      .filter(({ dir }) => dir === 'client>server')
      .map(({ brief = '' }) => parse(brief))
    const session = createSotwSession<DiscoveryResource>({
      presentOf: world({
        Cluster: { backend: '1', other: '1' },
        ClusterLoadAssignment: { backend: '1' },
        Listener: { backend: '1', other: '1' },
        RouteConfiguration: { backend: '1' },
      }),
      types,
      clock: createFakeClock(),
      nackBackoffMs: () => 5_000,
    })
    const answers = peer.slice(0, 8).flatMap(({ type, names, nonce, error }) => session.handle(type, { names, nonce, rejection: error }))
    expect(answers.map((answer) => `${answer.type} ${namesOf(answer)}`)).toEqual([
      'Listener backend',
      'RouteConfiguration backend',
      'Cluster backend',
      'ClusterLoadAssignment backend',
    ])
    expect(Object.values(session.status()).every(({ sent, acked }) => sent === acked)).toBe(true)
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { hashText } from './discovery.ts'
import {
  type Answer,
  createDeltaSession,
  createSotwSession,
  type DiscoveryResource,
  type DiscoverySession,
  type DiscoveryType,
} from './discovery-session.ts'

/*
 * Streams that real peers had with another server, replayed: the peer's half is fed in as it was, the resources are what that
 * server had at that moment, and our answers must be the ones it gave, in names and number. Where it sent endpoints again a
 * second after the cluster that waited for them, ours go with the cluster.
 */

interface Line {
  /** Seconds. */
  readonly t: number
  readonly s?: number
  readonly dir: string
  readonly b?: string
  readonly brief?: string
}
interface Sent {
  readonly type: string
  readonly nonce: string
  readonly names: readonly string[]
  readonly removed: readonly string[]
  /** Why it was sent: `first`, `subscribe`, `again`, or because its resources had changed. */
  readonly why: string
  readonly versions: ReadonlyMap<string, string>
}

const types: readonly DiscoveryType[] = [
  { type: 'Cluster', short: 'CDS', hasFullSet: true, followedBy: 'ClusterLoadAssignment' },
  { type: 'ClusterLoadAssignment', short: 'EDS', hasFullSet: false },
  { type: 'Listener', short: 'LDS', hasFullSet: true, followedBy: 'RouteConfiguration' },
  { type: 'RouteConfiguration', short: 'RDS', hasFullSet: false },
]
const ANSWERS_TO_REQUESTS = ['first', 'subscribe', 'again']

function linesOf(recording: string): readonly Line[] {
  return readFileSync(join(import.meta.dirname, 'recorded', `${recording}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

/** Replays a recording; what is returned has been checked answer by answer. */
async function replay(recording: string) {
  const variant = recording.endsWith('delta') ? 'delta' : 'sotw'
  const clock = createFakeClock()
  const world = new Map<string, ReadonlyMap<string, string>>()
  const sessions: DiscoverySession<DiscoveryResource>[] = []
  const lines = linesOf(recording)
  // What is answered on request was there before.
  for (const line of lines) {
    const sent = line.dir.startsWith('server>') ? sentIn(line, variant) : undefined
    if (sent !== undefined && ANSWERS_TO_REQUESTS.includes(sent.why))
      world.set(sent.type, new Map([...sent.versions, ...(world.get(sent.type) ?? [])]))
  }

  let waiting: Answer<DiscoveryResource>[] = []
  let nonces = new Map<string, string>()
  for (const line of lines) {
    await clock.advance(line.t * 1000 - clock.monotonic())
    const session = sessions.at(-1)
    if (line.dir === 'open') {
      expect(waiting).toEqual([])
      sessions.push(open())
      nonces = new Map()
    } else if (line.dir.endsWith('>server')) waiting.push(...say(session!, line.brief ?? ''))
    else if (line.dir.startsWith('server>')) {
      const sent = sentIn(line, variant)
      if (!ANSWERS_TO_REQUESTS.includes(sent.why)) {
        const { hasFullSet } = types.find(({ type }) => type === sent.type)!
        const before =
          variant === 'sotw' && hasFullSet ? [] : [...(world.get(sent.type) ?? [])].filter(([name]) => !sent.removed.includes(name))
        world.set(sent.type, new Map([...before, ...sent.versions]))
        waiting.push(...session!.push())
      }
      const ours = waiting.find(({ type }) => type === sent.type)
      expect({ t: line.t, ...said(ours) }).toEqual({
        t: line.t,
        type: sent.type,
        names: sent.names.toSorted(),
        removed: sent.removed.toSorted(),
      })
      // What it refuses it does not wait with, so that server sent no endpoints along; we cannot know, and do.
      waiting = waiting.filter((answer) => answer !== ours && sent.why !== 'bad')
      nonces.set(sent.nonce, ours!.nonce)
    }
  }
  expect(waiting).toEqual([])
  expect(sessions.at(-1)?.push()).toEqual([])
  return sessions

  function open() {
    const deps = {
      presentOf(type: string) {
        const own = new Map(
          [...(world.get(type) ?? [])].map(([name, version]): [string, DiscoveryResource] => [name, { name, version, needs: [name] }]),
        )
        return { own, find: (name: string) => own.get(name) }
      },
      types,
      clock,
      nackBackoffMs: () => 5_000,
    }
    return variant === 'sotw' ? createSotwSession<DiscoveryResource>(deps) : createDeltaSession<DiscoveryResource>(deps)
  }

  function say(session: DiscoverySession<DiscoveryResource>, brief: string) {
    const [type = ''] = brief.split(' ', 1)
    const theirs = / nonce='?(\w*)'?/.exec(brief)?.[1] ?? ''
    const error = / err='(.*)' node=/.exec(brief)?.[1] ?? ''
    const request = { nonce: nonces.get(theirs) ?? theirs, rejection: error === '' ? undefined : error }
    if (variant === 'sotw') return session.handle(type, { ...request, names: listIn(brief, 'names') })
    return session.handle(type, {
      ...request,
      subscribe: listIn(brief, 'sub'),
      unsubscribe: listIn(brief, 'unsub'),
      initialVersions: Object.fromEntries([...brief.matchAll(/'(\w+)': '(\w+)'/g)].map(([, name = '', version = '']) => [name, version])),
    })
  }
}

function said(answer: Answer<DiscoveryResource> | undefined) {
  return {
    type: answer?.type,
    names: answer?.resources.map(({ name }) => name).sort(),
    removed: answer?.variant === 'delta' ? answer.removed.toSorted() : [],
  }
}

function sentIn({ b = '', brief = '' }: Line, variant: 'sotw' | 'delta'): Sent {
  const [, type = '', nonce = '', why = ''] = /^(\w+) n=(\d+) .*\((\w+)\)$/.exec(brief) ?? []
  const names = [...(/ n=\d+ \[(.*?)\]/.exec(brief)?.[1] ?? '').matchAll(/'([^']*)'/g)].map(([, name = '']) => name)
  // Field 2 of both kinds of response is its resources; a delta resource carries its version in field 1. A gone one of the
  // state of the world is named as removed in the words, but not in the message.
  const resources = fieldsOf(Buffer.from(b, 'base64'), 2)
  const versions = new Map(
    names.map((name, index) => {
      const bytes = resources[index] ?? Buffer.alloc(0)
      return [name, variant === 'delta' ? (fieldsOf(bytes, 1)[0]?.toString() ?? '') : hashText(bytes.toString('latin1'))]
    }),
  )
  return { type, nonce, names, why, versions, removed: variant === 'delta' ? listIn(brief, 'removed') : [] }
}

function listIn(brief: string, field: string): readonly string[] {
  const inside = new RegExp(` ${field}=\\[(.*?)\\]`).exec(brief)?.[1] ?? ''
  return [...inside.matchAll(/'([^']*)'/g)].map(([, name = '']) => name)
}

/** The length-delimited fields of one number in a protobuf message whose other fields are length-delimited, too. */
function fieldsOf(message: Buffer, wanted: number): readonly Buffer[] {
  const found: Buffer[] = []
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++] ?? 0
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const field = varint() >>> 3
    const length = varint()
    if (field === wanted) found.push(message.subarray(at, at + length))
    at += length
  }
  return found
}

const countsOf = (session: DiscoverySession<DiscoveryResource> | undefined) =>
  Object.fromEntries(Object.entries(session?.status() ?? {}).map(([short, { sent, acked, nacked }]) => [short, [sent, acked, nacked]]))

describe('a recorded peer gets the answers it needed, and no other', () => {
  it('Envoy, state of the world: asks for endpoints before its ACK, refuses a cluster, loses one, comes back with versions', async () => {
    const [first, second] = await replay('envoy-sotw')
    expect(countsOf(first)).toEqual({ CDS: [5, 4, 1], EDS: [5, 4, 0], LDS: [1, 1, 0], RDS: [1, 1, 0] })
    expect(first?.status()['CDS']).toMatchObject({
      recovered: { reason: expect.stringContaining('Expected positive duration'), resources: ['search'] },
    })
    expect(countsOf(second)).toEqual({ CDS: [1, 1, 0], EDS: [1, 1, 0], LDS: [1, 1, 0], RDS: [1, 1, 0] })
  })

  it('Envoy, delta: the same, and on its return an empty answer a type, since it lacks nothing', async () => {
    const [first, second] = await replay('envoy-delta')
    expect(countsOf(first)).toEqual({ CDS: [5, 4, 1], EDS: [5, 4, 0], LDS: [1, 1, 0], RDS: [1, 1, 0] })
    expect(first?.status()['CDS']).toMatchObject({ recovered: { resources: ['search'] } })
    expect(countsOf(second)).toEqual({ CDS: [1, 1, 0], EDS: [1, 1, 0], LDS: [1, 1, 0], RDS: [1, 1, 0] })
  })

  it('gRPC client: asks by name for listener, route, cluster and endpoints in turn, and follows its endpoints', async () => {
    const [only] = await replay('grpc-core-sotw')
    expect(countsOf(only)).toEqual({ CDS: [1, 1, 0], EDS: [3, 3, 0], LDS: [1, 1, 0], RDS: [1, 1, 0] })
  })
})

import { afterEach, describe, expect, it, vi } from 'vitest'
import { loadKdsProtos } from './protos.ts'
import { openRawZone, startRawGlobal } from './testing/raw-peer.ts'
import { readRecorded } from './testing/recorded-session.ts'
import { byOperator, meshKey, startGlobal, startZone, timeout } from './testing/two-ends.ts'
import { DOWN_TYPES, UP_TYPES } from './zone-sessions.ts'

const protos = loadKdsProtos()
const stopped: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of stopped.splice(0).toReversed()) await each.stop()
})
const started = <T extends { stop(): Promise<void> }>(each: T): T => {
  stopped.push(each)
  return each
}
const soon = (check: () => unknown) => vi.waitFor(check, { timeout: 5_000, interval: 10 })
const isAnswer = ({ response_nonce }: { readonly response_nonce: string }) => response_nonce !== ''

describe.each(['3.0', '2.14'] as const)('a recorded session of Kuma %s', (version) => {
  const recorded = readRecorded(version, protos)
  const half = (from: 'zone' | 'global', stream: 'down' | 'up') => recorded.filter((each) => each.from === from && each.stream === stream)

  it('of a global is taken by our zone: each answer acknowledged, a policy that overtook its Mesh stored once that is there', async () => {
    const global = started(await startRawGlobal(protos))
    const zone = started(await startZone(global.address, 'zone-2', { nackBackoffMs: 50 }))
    await soon(() => expect(global.requests.length).toBeGreaterThanOrEqual(DOWN_TYPES.length))
    const responses = half('global', 'down').flatMap(({ response }) => (response === undefined ? [] : [response]))
    for (const response of responses) global.send(response)
    await soon(() => expect(global.requests.filter(isAnswer)).toHaveLength(responses.length))
    // A real global never sends again what was refused: our zone stores it by itself.
    for (const refusal of global.requests.filter(({ error_detail }) => error_detail !== null))
      expect(refusal.error_detail?.message).toMatch(/^\S+\.(\w+): .* belongs to Mesh \1, which is not there$/m)
    await soon(() => expect(zone.sessions.list().flatMap(({ refused }) => refused)).toEqual([]))
    const wanted = new Map<string, string>()
    for (const { type_url, resources, removed_resources } of responses) {
      for (const { name } of resources) wanted.set(`${type_url} ${name}`, name)
      for (const name of removed_resources) wanted.delete(`${type_url} ${name}`)
    }
    const stored: string[] = []
    for (const type of DOWN_TYPES)
      for (const { key } of (await zone.store.list({ type, limit: 1000 })).items) stored.push(`${type} ${key.name}.${key.mesh}`)
    expect(stored.sort()).toEqual([...wanted.keys()].sort())
    expect(zone.ends).toEqual([])
    expect(global.opened()).toBe(1)
  })

  it('of a global asks our zone, which answers each type once, empty too, and no other', async () => {
    const global = started(await startRawGlobal(protos))
    started(await startZone(global.address, 'zone-2'))
    await soon(() => expect(global.requests.length).toBeGreaterThan(0))
    const asked = half('global', 'up').flatMap(({ request }) => (request === undefined || isAnswer(request) ? [] : [request]))
    for (const request of asked) global.ask(request)
    await soon(() => expect(global.sentUp).toHaveLength(asked.length))
    expect(new Set(global.sentUp.map(({ type_url }) => type_url))).toEqual(new Set(asked.map(({ type_url }) => type_url)))
  })

  it('of a zone is answered by our global: one answer per type it owns, labelled and named as the zone expects, none for any other', async () => {
    const global = started(await startGlobal())
    await global.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    await global.store.create(timeout('slow'), byOperator)
    const zone = openRawZone(protos, global.address, {
      zone: 'zone-2',
      onResponse: ({ type_url, nonce }, peer) => peer.request({ type_url, response_nonce: nonce, node: { id: 'zone-2' } }),
    })
    stopped.push({ stop: () => Promise.resolve(zone.cut()) })
    for (const { request } of half('zone', 'down')) if (request !== undefined && !isAnswer(request)) zone.request(request)
    await soon(() =>
      expect(zone.responses.map(({ type_url }) => type_url).sort()).toEqual(['Mesh', 'MeshCircuitBreaker', 'MeshRetry', 'MeshTimeout']),
    )
    const [slow] = zone.responses.find(({ type_url }) => type_url === 'MeshTimeout')?.resources ?? []
    expect(slow?.name).toBe('slow-x44vd47294994d74.demo')
    expect(zone.responses[0]?.type_url, 'owners first').toBe('Mesh')
    await soon(() =>
      expect(global.sessions.list().find(({ direction }) => direction === 'down')?.types).toMatchObject(
        ['Mesh', 'MeshCircuitBreaker', 'MeshRetry', 'MeshTimeout'].map((type) => ({
          type: expect.any(String) as string,
          sent: 1,
          acked: type === '' ? 0 : 1,
          status: 'synced',
        })),
      ),
    )
  })

  it('of a zone sends its own up, and our global asks for all types with the name of the zone, and stores what comes', async () => {
    const global = started(await startGlobal())
    await global.store.create({ key: meshKey('default'), spec: {} }, byOperator)
    const zone = openRawZone(protos, global.address, { zone: 'zone-2' })
    stopped.push({ stop: () => Promise.resolve(zone.cut()) })
    await soon(() => expect(zone.asked).toHaveLength(UP_TYPES.length))
    expect(new Set(zone.asked.map(({ node }) => node?.id))).toEqual(new Set(['zone-2']))
    expect(new Set(zone.asked.map(({ type_url }) => type_url))).toEqual(new Set(UP_TYPES))
    const sent = half('zone', 'up').flatMap(({ response }) => (response === undefined ? [] : [response]))
    for (const response of sent) zone.sendUp(response)
    await soon(() => expect(zone.asked.filter(isAnswer)).toHaveLength(sent.length))
    expect(zone.asked.filter(({ error_detail }) => error_detail !== null)).toEqual([])
    const left = new Set<string>()
    for (const { type_url, resources, removed_resources } of sent) {
      for (const { name } of resources) left.add(`${type_url} ${name}`)
      for (const name of removed_resources) left.delete(`${type_url} ${name}`)
    }
    const stored: string[] = []
    for (const type of UP_TYPES)
      for (const { key } of (await global.store.list({ type, limit: 1000 })).items) stored.push(`${type} ${key.name}.${key.mesh}`)
    expect(stored.sort()).toEqual([...left].sort())
  })
})

describe('a zone of another kind', () => {
  const node = { id: 'kuma', metadata: { fields: { features: { listValue: { values: [{ stringValue: 'hash-suffix' }] } } } } }

  it('that refuses without naming anybody makes each a suspect, until they were tried one by one', async () => {
    const global = started(await startGlobal({ nackBackoffMs: 100 }))
    await global.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    for (const name of ['a', 'b', 'good']) await global.store.create(timeout(name, 'demo', name === 'good' ? '5s' : '4s'), byOperator)
    const sizes: number[] = []
    const zone = openRawZone(protos, global.address, {
      zone: 'kuma',
      onResponse({ type_url, nonce, resources }, peer) {
        if (type_url === 'MeshTimeout') sizes.push(resources.length)
        const bad = resources.filter(({ resource }) => resource?.value.includes('"4s"')).length
        const error_detail = { code: 0, message: Array.from({ length: bad }, () => 'spec.to[0].default: must be greater').join('\n') }
        // It repeats its subscription, which asks for nothing new.
        peer.request({
          type_url,
          response_nonce: nonce,
          node: { id: 'kuma' },
          ...(bad > 0 && { error_detail, resource_names_subscribe: ['*'] }),
        })
      },
    })
    stopped.push({ stop: () => Promise.resolve(zone.cut()) })
    const refused = () => global.sessions.list().find(({ direction }) => direction === 'down')?.refused ?? []
    const rest = { resource_names_subscribe: ['*'], node }
    for (const type_url of ['Mesh', 'MeshTimeout']) zone.request({ type_url, ...rest })
    await soon(() => expect(refused().map(({ oneOf }) => oneOf)).toEqual([3, 3, 3]))
    await soon(() =>
      expect(refused().map(({ name, oneOf }) => [name.split('-')[0], oneOf])).toEqual([
        ['a', 1],
        ['b', 1],
      ]),
    )
    expect(sizes.slice(0, 4)).toEqual([3, 1, 1, 1])
  })

  it('that opens a second stream has its first one ended: it hangs', async () => {
    const global = started(await startGlobal())
    const open = () => {
      const zone = openRawZone(protos, global.address, { zone: 'kuma' })
      stopped.push({ stop: () => Promise.resolve(zone.cut()) })
      zone.request({ type_url: 'Mesh', resource_names_subscribe: ['*'], node })
      return zone
    }
    const first = open()
    await soon(() => expect(first.responses).toHaveLength(1))
    const second = open()
    await soon(() => expect([first.isOver(), second.responses.length]).toEqual([true, 1]))
    expect(global.sessions.list().filter(({ direction }) => direction === 'down')).toHaveLength(1)
  })

  it('that does not say which zone it is is refused, with what would be right', async () => {
    const global = started(await startGlobal())
    const zone = openRawZone(protos, global.address, { zone: 'Not A Name' })
    await soon(() => expect(zone.isOver()).toBe(true))
    expect(global.sessions.list()).toEqual([])
  })
})

describe('a global that ends its streams cleanly', () => {
  it('has disconnected: everything is connected again', async () => {
    const global = started(await startRawGlobal(protos))
    const zone = started(await startZone(global.address, 'zone-2'))
    await soon(() => expect(global.opened()).toBe(1))
    global.endStreams()
    await soon(() => expect(global.opened()).toBe(2))
    expect(zone.ends).toEqual([undefined])
  })
})

describe('a zone that ends the connection at a resource it cannot decode', () => {
  it('gets all other types on its second connection, and has the culprit named within five', async () => {
    const global = started(await startGlobal())
    await global.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    for (const name of ['good', 'bad', 'fine']) await global.store.create(timeout(name, 'demo', name === 'bad' ? 'zzz' : '5s'), byOperator)
    await global.store.create({ key: { type: 'MeshRetry', mesh: 'demo', name: 'r' }, spec: {} }, byOperator)
    const types = ['MeshTimeout', 'Mesh', 'MeshRetry', 'MeshCircuitBreaker']
    const got = new Set<string>()
    const gotOn: string[][] = []
    let connections = 0
    for (; connections < 8 && (global.sessions.list()[0]?.refused.length ?? 0) === 0;) {
      connections++
      const here = new Set<string>()
      gotOn.push([])
      const zone = openRawZone(protos, global.address, {
        zone: 'fragile',
        onResponse({ type_url, nonce, resources }, peer) {
          if (resources.some(({ resource }) => resource?.value.includes('zzz'))) throw new Error('cannot decode')
          here.add(type_url)
          for (const { name } of resources) got.add(`${type_url} ${name.split('-')[0]}`)
          gotOn[connections - 1] = [...here]
          peer.request({ type_url, response_nonce: nonce, node: { id: 'fragile' } })
        },
      })
      stopped.push({ stop: () => Promise.resolve(zone.cut()) })
      for (const type_url of types)
        zone.request({
          type_url,
          resource_names_subscribe: ['*'],
          node: { id: 'fragile', metadata: { fields: { features: { listValue: { values: [{ stringValue: 'hash-suffix' }] } } } } },
        })
      await soon(() => expect(zone.isOver() || got.has('MeshTimeout good')).toBe(true))
      if (zone.isOver()) await soon(() => expect(global.sessions.list().filter(({ direction }) => direction === 'down')).toEqual([]))
      else await soon(() => expect(global.sessions.list().some(({ refused }) => refused.length > 0) || zone.isOver()).toBe(true))
    }
    expect(connections).toBeLessThanOrEqual(5)
    expect(gotOn[1], 'all others on the second connection').toEqual(expect.arrayContaining(['Mesh', 'MeshRetry', 'MeshCircuitBreaker']))
    expect([...got].sort()).toEqual(['Mesh demo.', 'MeshRetry r', 'MeshTimeout fine', 'MeshTimeout good'])
    expect(global.sessions.list()[0]?.refused).toMatchObject([
      { type: 'MeshTimeout', name: expect.stringMatching(/^bad-/) as string, kind: 'poison', oneOf: 1 },
    ])
  })
})

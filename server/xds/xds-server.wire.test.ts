import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectHttp2 } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MAX_STREAMS_PER_CONNECTION } from '../lib/grpc-streams.ts'
import { CLUSTER, ENDPOINT, LISTENER, SECRET } from './resource-types.ts'
import { nodeOf, openRaw, plainDataplane, type RawStream } from './testing/raw-client.ts'
import { startXds } from './testing/xds-bench.ts'

type Xds = Awaited<ReturnType<typeof startXds>>
let xds: Xds
const opened: RawStream[] = []
beforeEach(async () => {
  xds = await startXds({ cacheTtlMs: 5_000 })
})
afterEach(async () => {
  for (const stream of opened.splice(0)) stream.cancel()
  await xds.stop()
})
const open = (options?: Parameters<typeof openRaw>[2]) => {
  const stream = openRaw(xds.protos, xds.server.address(), options)
  opened.push(stream)
  return stream
}
const web = (name = 'web-1') => nodeOf(`default.${name}`, plainDataplane('web', 18_001))

describe('a data plane that connects', () => {
  it('is configured in milliseconds although the cache holds, for seconds more, that it does not exist', async () => {
    await expect(xds.cache.get({ type: 'Dataplane', mesh: 'default', name: 'web-1' })).rejects.toMatchObject({ code: 'not_found' })
    const stream = open()
    const startedAt = performance.now()
    stream.write({ type_url: LISTENER, node: web() })
    const answer = await stream.answer(0)
    expect(answer.resources).toHaveLength(2)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })

  it('is one session with what it acknowledged, and its status is reported from open to close', async () => {
    const stream = open()
    stream.write({ type_url: CLUSTER, node: web() })
    const { nonce, version_info } = await stream.answer(0)
    stream.write({ type_url: CLUSTER, response_nonce: nonce, version_info })
    await vi.waitFor(() =>
      expect(xds.sessions.list()[0]?.types).toMatchObject([{ type: 'CDS', sent: 1, acked: 1, nacked: 0, status: 'synced' }]),
    )
    stream.call.end()
    expect((await stream.ended).code).toBe(status.OK)
    await vi.waitFor(() =>
      expect(xds.reported.at(-1)).toMatchObject({
        subject: 'default.web-1',
        what: 'close',
        subscription: { disconnectedAt: expect.any(Number) },
      }),
    )
    expect(xds.sessions.list()).toEqual([])
  })

  it('that refuses something is shown with its reason and the resources it may be about, and is sent other types all the same', async () => {
    const stream = open()
    stream.write({ type_url: CLUSTER, node: web() })
    const { nonce } = await stream.answer(0)
    stream.write({ type_url: CLUSTER, response_nonce: nonce, error_detail: { code: 13, message: 'no such filter' } })
    stream.write({ type_url: LISTENER })
    expect((await stream.answer(1)).type_url).toBe(LISTENER)
    await vi.waitFor(() =>
      expect(xds.sessions.list()[0]?.types[0]).toMatchObject({
        type: 'CDS',
        nacked: 1,
        status: 'rejected',
        error: 'no such filter',
        rejection: { times: 1, resources: ['localhost:18001', 'backend'] },
      }),
    )
  })

  it('speaks delta as well as state of the world, and follows changes in both', async () => {
    for (const variant of ['sotw', 'delta'] as const) {
      const stream = open({ variant })
      stream.write({
        type_url: ENDPOINT,
        node: web(variant),
        ...(variant === 'sotw' ? { resource_names: ['backend'] } : { resource_names_subscribe: ['backend'] }),
      })
      const before = await stream.answer(0)
      expect(before.resources).toHaveLength(1)
      stream.write({ type_url: ENDPOINT, response_nonce: before.nonce, ...(variant === 'sotw' && { resource_names: ['backend'] }) })
      await xds.store.create(
        { key: { type: 'Dataplane', mesh: 'default', name: `backend-${variant}` }, spec: plainDataplane('backend', 18_100) },
        { writer: 'test' },
      )
      expect((await stream.answer(1)).resources).toHaveLength(1)
      stream.cancel()
      await stream.ended
    }
  })

  it('may be there on two streams at once: both are answered, and the end of one does not end the other', async () => {
    const [first, second] = [open(), open({ variant: 'delta' })]
    for (const stream of [first, second]) {
      stream.write({ type_url: CLUSTER, node: web() })
      await stream.answer(0)
    }
    expect(xds.sessions.list()).toHaveLength(2)
    first.cancel()
    await vi.waitFor(() => expect(xds.sessions.list()).toHaveLength(1))
    second.write({ type_url: LISTENER })
    expect((await second.answer(1)).type_url).toBe(LISTENER)
  })

  it('keeps what it registered through a blip, and is gone after the delay when it stays away', async () => {
    await xds.stop()
    xds = await startXds({ deregistrationDelayMs: 300 })
    const isThere = () =>
      xds.store.get({ type: 'Dataplane', mesh: 'default', name: 'web-1' }).then(
        () => true,
        () => false,
      )
    for (const round of [1, 2]) {
      const stream = open()
      stream.write({ type_url: CLUSTER, node: web() })
      await stream.answer(0)
      stream.cancel()
      await vi.waitFor(() => expect(xds.server.sizes().removals, `round ${round}`).toBe(1))
      expect(await isThere()).toBe(true)
    }
    await vi.waitFor(async () => expect(await isThere()).toBe(false))
    expect(xds.server.sizes()).toMatchObject({ streams: 0, removals: 0 })
  })

  it('gets secrets in a mesh with mTLS, and new ones when they are renewed', async () => {
    await xds.store.create(
      { key: { type: 'Mesh', mesh: '', name: 'secure' }, spec: { mtls: { enabledBackend: 'builtin' } } },
      { writer: 'test' },
    )
    const stream = open()
    stream.write({ type_url: SECRET, node: nodeOf('secure.web-1', plainDataplane('web', 18_001)), resource_names: ['identity', 'mesh-ca'] })
    const first = await stream.answer(0)
    stream.write({
      type_url: SECRET,
      response_nonce: first.nonce,
      version_info: first.version_info,
      resource_names: ['identity', 'mesh-ca'],
    })
    xds.certificateTtlMs.set(2_000)
    const second = await stream.answer(1)
    expect(second.version_info).not.toBe(first.version_info)
    expect(xds.errors).toEqual([])
  })
})

describe('a peer that does what it should not', () => {
  it('is told what was wrong and what would be right when it has no node, no Dataplane, or no mesh', async () => {
    const cases: [object, status, RegExp][] = [
      [{ type_url: CLUSTER }, status.INVALID_ARGUMENT, /<mesh>.<name>/],
      [{ type_url: CLUSTER, node: { id: 'default.ghost' } }, status.NOT_FOUND, /dataplane.resource/],
      [{ type_url: CLUSTER, node: nodeOf('nowhere.web', plainDataplane('web', 1)) }, status.NOT_FOUND, /no mesh "nowhere"/],
      [{ type_url: CLUSTER, node: nodeOf('default.web', { networking: {} }) }, status.INVALID_ARGUMENT, /networking.address/],
    ]
    for (const [message, code, says] of cases) {
      const stream = open()
      stream.write(message)
      const ended = await stream.ended
      expect(ended.code).toBe(code)
      expect(ended.details).toMatch(says)
    }
    expect(xds.server.sizes().streams).toBe(0)
  })

  it('is hung up on when it says to be another in the middle of its stream', async () => {
    const stream = open()
    stream.write({ type_url: CLUSTER, node: web() })
    await stream.answer(0)
    stream.write({ type_url: LISTENER, node: web('other') })
    expect(await stream.ended).toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringMatching(/"default.web-1".*"default.other"/),
    })
  })

  it('is not answered for types that are not ours, and goes on', async () => {
    const stream = open()
    stream.write({ type_url: 'type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration', node: web() })
    stream.write({ type_url: CLUSTER })
    expect((await stream.answer(0)).type_url).toBe(CLUSTER)
  })

  it('gets a status for bytes that are no message, and others are not troubled', async () => {
    const other = open()
    other.write({ type_url: CLUSTER, node: web('other') })
    await other.answer(0)
    const session = connectHttp2(`http://${xds.server.address()}`)
    session.on('error', () => undefined)
    const request = session.request({
      ':method': 'POST',
      ':path': '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    const garbage = Buffer.from('ff'.repeat(40), 'hex')
    const code = await new Promise((resolve) => {
      request.on('response', (headers) => headers['grpc-status'] !== undefined && resolve(headers['grpc-status']))
      request.on('trailers', (trailers) => resolve(trailers['grpc-status']))
      request.on('error', () => undefined)
      request.resume()
      request.write(Buffer.concat([Buffer.from([0, 0, 0, 0, garbage.length]), garbage]))
    })
    expect(Number(code)).toBeGreaterThan(0)
    session.destroy()
    const noise = connect(Number(xds.server.address().split(':')[1]), '127.0.0.1')
    noise.on('error', () => undefined)
    noise.resume()
    noise.write('GET / HTTP/1.1\r\n\r\n\0\0\0')
    await new Promise((resolve) => noise.once('close', resolve))
    other.write({ type_url: LISTENER })
    expect((await other.answer(1)).type_url).toBe(LISTENER)
  })

  it('hears how it ended when a message cannot be read after others that were still to be answered', async () => {
    const frameOf = (message: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, message.length >> 8, message.length & 0xff]), message])
    const serialize = xds.protos.discoveryService['StreamAggregatedResources']!.requestSerialize as (message: object) => Buffer
    const asks = [CLUSTER, LISTENER, ENDPOINT].map((type_url) => frameOf(serialize({ type_url, node: web('torn') })))
    const session = connectHttp2(`http://${xds.server.address()}`)
    for (let round = 0; round < 20; round++) {
      const request = session.request({
        ':method': 'POST',
        ':path': '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      const code = new Promise((resolve) => {
        request.on('response', (headers) => headers['grpc-status'] !== undefined && resolve(headers['grpc-status']))
        request.on('trailers', (trailers) => resolve(trailers['grpc-status']))
      })
      request.on('error', () => undefined)
      request.resume()
      request.write(Buffer.concat([...asks, ...asks, frameOf(Buffer.alloc(40, 0xff)), ...asks]))
      expect(Number(await code)).toBe(status.INTERNAL)
      request.close()
    }
    session.destroy()
  })

  it('is told so when what it says of itself cannot be told back as it is', async () => {
    const halfCharacter = open()
    halfCharacter.write({
      type_url: CLUSTER,
      node: nodeOf('default.half', { networking: { address: '127.0.0.1', inbound: [{ port: 1, tags: { '\ud800': 5 } }] } }),
    })
    expect(await halfCharacter.ended).toMatchObject({ code: status.INVALID_ARGUMENT })
    const book = open()
    book.write({ type_url: CLUSTER, node: nodeOf('default.book', { mesh: 'm'.repeat(300_000) }) })
    expect(await book.ended).toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringMatching(/must agree$/) })
  })

  it('is refused when it subscribes to ever more names', async () => {
    const stream = open({ variant: 'delta' })
    stream.write({ type_url: ENDPOINT, node: web('greedy'), resource_names_subscribe: ['backend'] })
    await stream.answer(0)
    for (let round = 0; round < 6; round++)
      stream.write({ type_url: ENDPOINT, resource_names_subscribe: Array.from({ length: 10_000 }, (_, index) => `${round}-${index}`) })
    expect(await stream.ended).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: expect.stringContaining('50000 names') })
  })

  it('is refused with metadata beyond bounds', async () => {
    const stream = open()
    stream.write({ type_url: CLUSTER, node: nodeOf('default.big', { ...plainDataplane('web', 1), padding: 'x'.repeat(11 << 20) }) })
    expect((await stream.ended).code).toBe(status.RESOURCE_EXHAUSTED)
  })

  it('that does not read is not read from either, holds up nobody, and is sent the newest once it reads', async () => {
    const backend = (index: number) => ({
      key: { type: 'Dataplane', mesh: 'default', name: `backend-${index}` },
      spec: plainDataplane('backend', 1 + index),
    })
    await xds.store.writeBatch(
      Array.from({ length: 500 }, (_, index) => ({ kind: 'create' as const, draft: backend(index) })),
      { writer: 'test' },
    )
    const deaf = open()
    deaf.write({ type_url: ENDPOINT, node: web('deaf'), resource_names: ['backend'] })
    await deaf.answer(0)
    const sizeOf = (answer: (typeof deaf.answers)[number] | undefined) => answer?.resources[0]?.value?.length ?? 0
    expect(sizeOf(deaf.answers[0])).toBeGreaterThan(10_000)
    deaf.call.pause()
    // Each asks for one service more, so each is owed an answer of tens of kilobytes.
    const rounds = 1_000
    for (let round = 0; round < rounds; round++)
      deaf.write({ type_url: ENDPOINT, resource_names: ['backend', ...(round % 2 === 0 ? ['web'] : [])] })
    const other = open()
    other.write({ type_url: ENDPOINT, node: web('other'), resource_names: ['backend'] })
    await other.answer(0)
    await xds.store.create(backend(500), { writer: 'test' })
    await other.answer(1)
    const sentWhileDeaf = xds.counts['EDS sent'] ?? 0
    expect(sentWhileDeaf).toBeLessThan(100)
    deaf.call.resume()
    await vi.waitFor(() => expect(sizeOf(deaf.answers.at(-1))).toBeGreaterThan(sizeOf(deaf.answers[0])), { timeout: 20_000 })
    expect(xds.counts['EDS sent']).toBeGreaterThan(sentWhileDeaf)
  })

  it('that froze is found by keepalive', async () => {
    await xds.stop()
    xds = await startXds({ keepaliveTimeMs: 300, keepaliveTimeoutMs: 300 })
    const fleet = spawn(
      process.execPath,
      [join(import.meta.dirname, '../demo/fleet.ts'), '--xds', xds.server.address(), '--dataplanes', '1'],
      { stdio: 'ignore' },
    )
    try {
      await vi.waitFor(() => expect(xds.sessions.list()).toHaveLength(1), { timeout: 10_000 })
      fleet.kill('SIGSTOP')
      await vi.waitFor(() => expect(xds.sessions.list()).toHaveLength(0), { timeout: 10_000 })
    } finally {
      fleet.kill('SIGCONT')
      fleet.kill('SIGKILL')
    }
  })
})

describe('many at once', () => {
  it('are all configured, 200 in one go', async () => {
    const streams = Array.from({ length: 200 }, (_, index) => {
      const stream = open()
      stream.write({ type_url: CLUSTER, node: web(`web-${index}`) })
      return stream
    })
    await Promise.all(streams.map((stream) => stream.answer(0)))
    expect(xds.sessions.list()).toHaveLength(200)
    expect(xds.firstConfigs).toHaveLength(200)
  })

  it('on one connection are a hundred at most: another one is served when one of them has ended', async () => {
    const session = connectHttp2(`http://${xds.server.address()}`)
    await once(session, 'remoteSettings')
    expect(session.remoteSettings.maxConcurrentStreams).toBe(MAX_STREAMS_PER_CONNECTION)
    const serialize = xds.protos.discoveryService['StreamAggregatedResources']!.requestSerialize as (message: object) => Buffer
    const hello = (name: string) => {
      const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources'
      const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' })
      const message = serialize({ type_url: CLUSTER, node: web(name) })
      const head = Buffer.alloc(5)
      head.writeUInt32BE(message.length, 1)
      stream.on('error', () => undefined)
      stream.write(Buffer.concat([head, message]))
      return stream.resume()
    }
    const served = () => xds.sessions.list().map(({ nodeId }) => nodeId)
    const [first] = Array.from({ length: MAX_STREAMS_PER_CONNECTION }, (_, index) => hello(`web-${index}`))
    await vi.waitFor(() => expect(served()).toHaveLength(MAX_STREAMS_PER_CONNECTION))
    hello('beyond')
    await new Promise((resolve) => session.ping((...answer) => resolve(answer)))
    expect(served()).not.toContain('default.beyond')
    first!.close()
    await vi.waitFor(() => {
      hello('beyond')
      expect(served()).toContain('default.beyond')
    })
    session.destroy()
  })

  it('that are refused are one line in the log, and one more that counts them', async () => {
    const streams = Array.from({ length: 50 }, () => open())
    for (const stream of streams) stream.write({ type_url: CLUSTER, node: nodeOf('nowhere') })
    await Promise.all(streams.map((stream) => stream.ended))
    const refusals = () => xds.lines.filter(({ msg }) => msg === 'refused an xDS stream').map(({ count }) => count)
    expect(refusals()).toEqual([1])
    await xds.stop()
    expect(refusals()).toEqual([1, 49])
    xds = await startXds()
  })

  it('connects that come and go a thousand times leave nothing behind', async () => {
    for (let round = 0; round < 10; round++) {
      const streams = Array.from({ length: 100 }, () => open())
      for (const [index, stream] of streams.entries()) {
        stream.write({ type_url: CLUSTER, node: web(`web-${index}`) })
        // Some leave before they are answered, some after.
        if (index % 2 === 0) stream.cancel()
      }
      await Promise.all(streams.filter((_, index) => index % 2 === 1).map((stream) => stream.answer(0)))
      for (const stream of streams) stream.cancel()
      await Promise.all(streams.map((stream) => stream.ended))
    }
    await vi.waitFor(() => expect(xds.server.sizes()).toMatchObject({ streams: 0 }))
    expect(xds.sessions.list()).toEqual([])
    const opens = xds.reported.filter(({ what }) => what === 'open').length
    expect(xds.reported.filter(({ what }) => what === 'close')).toHaveLength(opens)
  })
})

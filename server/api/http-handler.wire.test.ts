import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createTRPCClient, createWSClient, httpBatchLink, TRPCClientError, wsLink } from '@trpc/client'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createSystemClock } from '../lib/clock.ts'
import type { LiveFrame } from '../model/views.ts'
import { createFakeControlPlane, type FakeControlPlane, insightKey, insightRow } from './fake-control-plane.ts'
import { type ApiHandler, type ApiHandlerOptions, createApiHandler } from './http-handler.ts'
import { MAX_BUFFERED_BYTES } from './live-sockets.ts'
import type { AppRouter } from './router.ts'

const clock = createSystemClock()
const logger = pino({ level: 'silent' })
const INTERVAL = 'sink.dataplane.flushIntervalMs'
let fake: FakeControlPlane
let api: ApiHandler
let server: Server
let url: string
let wsUrl: string
const serverSockets = new Set<Socket>()

async function start(options: Omit<ApiHandlerOptions, 'logger'> = {}): Promise<void> {
  fake = createFakeControlPlane(clock)
  api = createApiHandler(fake.controlPlane, { logger, ...options })
  server = createServer({ maxHeaderSize: 64 * 1024 }, (req, res) => {
    if (!api.request(req, res)) res.writeHead(404).end('not the API')
  })
  server.on('connection', (socket) => {
    serverSockets.add(socket)
    socket.on('close', () => serverSockets.delete(socket))
  })
  server.on('upgrade', (req, socket, head) => {
    if (!api.upgrade(req, socket, head)) socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  url = `http://127.0.0.1:${port}/api/trpc`
  wsUrl = `ws://127.0.0.1:${port}/api/trpc`
}

async function stop(): Promise<void> {
  await api.close()
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
  await expectNothingLeft()
}

/** Nobody follows: no socket, no subscription, no listener on the board. */
async function expectNothingLeft(): Promise<void> {
  await expect
    .poll(() => ({ ...api.stats(), listeners: fake.board.listeners() }), { timeout: 5_000 })
    .toEqual({
      sockets: 0,
      bufferedBytes: 0,
      subscriptions: 0,
      listeners: 0,
    })
}

afterEach(stop)

interface Answer {
  readonly status: number
  readonly body: {
    readonly result?: { readonly data: Record<string, unknown> }
    readonly error?: {
      readonly message: string
      readonly data: { readonly code: string; readonly httpStatus: number; readonly details: object }
    }
  }
}

async function post(path: string, input: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const body = typeof input === 'string' ? input : JSON.stringify(input)
  const response = await fetch(`${url}/${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

async function get(path: string, input?: unknown): Promise<Answer> {
  const query = input === undefined ? '' : `?input=${encodeURIComponent(typeof input === 'string' ? input : JSON.stringify(input))}`
  const response = await fetch(`${url}/${path}${query}`)
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

/** fetch sets Host and Origin itself; a browser in the wrong hands or a script does not. */
function rawGet(path: string, headers: Record<string, string>): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(`${url}/${path}`, { headers }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    asked.on('error', reject).end()
  })
}

describe('calls', () => {
  beforeEach(() => start())

  it('answers a script with plain JSON that nothing caches', async () => {
    fake.board.put(insightRow('a'))
    const response = await fetch(`${url}/insights.summary`)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(await response.json()).toMatchObject({ result: { data: { now: expect.any(Number), DataplaneInsight: expect.any(Object) } } })
    expect((await get('insights.list', { q: 'a', limit: 1 })).body.result?.data).toMatchObject({ total: 1, nextCursor: null })
  })

  it('writes into the history who changed what: the name a browser gives, else its address', async () => {
    const first = await post('settings.apply', { key: INTERVAL, value: 5_000, expectedVersion: '0' }, { 'x-tidewatch-operator': 'ada' })
    expect(first).toMatchObject({ status: 200, body: { result: { data: { changeId: 'c1', setting: { value: 5_000 } } } } })
    await post('settings.apply', { key: INTERVAL, value: 6_000, expectedVersion: 'v1' })
    const { body } = await get('settings.history')
    expect(body.result?.data['items']).toMatchObject([{ by: 'operator@127.0.0.1' }, { by: 'ada' }])
  })

  it('says a conflict with who changed it', async () => {
    await post('settings.apply', { key: INTERVAL, value: 5_000, expectedVersion: '0' }, { 'x-tidewatch-operator': 'ada' })
    const second = await post('settings.apply', { key: INTERVAL, value: 6_000, expectedVersion: '0' })
    expect(second).toMatchObject({
      status: 409,
      body: { error: { data: { code: 'conflict', httpStatus: 409, details: { changedBy: 'ada', value: 5_000, version: 'v1' } } } },
    })
  })

  it('blames wrong input on the caller, in the same words everywhere', async () => {
    const wrong: readonly (readonly [Promise<Answer>, number, string])[] = [
      [get('insights.list', '{"limit":'), 400, 'invalid'],
      [get('insights.list', { limit: 0 }), 400, 'invalid'],
      [get('insights.get', { key: { type: 'DataplaneInsight' } }), 400, 'invalid'],
      [post('settings.apply', '{nonsense'), 400, 'invalid'],
      [post('settings.apply', { key: INTERVAL, value: 1, expectedVersion: '0' }), 400, 'invalid'],
      [get('insights.get', { key: insightKey('none') }), 404, 'not_found'],
      [get('insights.everything'), 404, 'not_found'],
      [get('demo.list'), 404, 'not_found'],
      [get('settings.apply', { key: INTERVAL, value: 1_000, expectedVersion: '0' }), 405, 'unsupported'],
      [post('settings.apply', 'x'.repeat(1024 * 1024 + 1)), 413, 'exhausted'],
      [post('settings.apply', {}, { 'content-type': 'text/plain' }), 415, 'invalid'],
    ]
    for (const [answer, status, code] of wrong) {
      const { status: gotStatus, body } = await answer
      expect({ status: gotStatus, code: body.error?.data.code, httpStatus: body.error?.data.httpStatus }).toEqual({
        status,
        code,
        httpStatus: status,
      })
      expect(JSON.stringify(body)).not.toMatch(/stack|node_modules/)
    }
  })

  it("serves the page's client: batches, and 200 keys in a post", async () => {
    const client = createTRPCClient<AppRouter>({ links: [httpBatchLink({ url, methodOverride: 'POST' })] })
    fake.board.put(insightRow('dp-7'))
    const keys = Array.from({ length: 200 }, (_, index) => insightKey(`dp-${index}`))
    const [rows, self, applied] = await Promise.all([
      client.insights.rows.query({ keys }),
      client.instances.self.query(),
      client.settings.apply.mutate({ key: INTERVAL, value: 2_000, expectedVersion: '0' }),
    ])
    expect(rows.items).toHaveLength(1)
    expect(self.id).toBe('i-1')
    expect(applied.setting.value).toBe(2_000)
    const error = await client.sessions.get.query({ id: 's-9' }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(TRPCClientError)
    expect(error).toMatchObject({ data: { code: 'not_found', details: { id: 's-9' } } })
  })

  it('refuses methods it does not answer, without taking them for a fault of its own', async () => {
    for (const method of ['TRACE', 'PUT', 'DELETE']) {
      const status = await new Promise((resolve, reject) => {
        const asked = httpRequest(`${url}/settings.list`, { method, headers: { 'content-type': 'application/json' } }, (response) =>
          resolve(response.resume().statusCode),
        )
        asked.on('error', reject).end()
      })
      expect(status).toBe(405)
    }
  })

  it('leaves other paths to others', async () => {
    expect(await (await fetch(url.replace('/api/trpc', '/'))).text()).toBe('not the API')
    expect(await (await fetch(url)).text()).toBe('not the API')
  })

  it('keeps other web sites out: rebound names, foreign pages, foreign posts', async () => {
    const host = new URL(url).host
    expect((await rawGet('insights.summary', { host: 'evil.example' })).status).toBe(403)
    expect((await rawGet('insights.summary', { host: `evil.example:${new URL(url).port}` })).status).toBe(403)
    expect((await rawGet('insights.summary', { host, origin: 'http://evil.example' })).status).toBe(403)
    expect((await rawGet('insights.summary', { host, 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    const change = { key: INTERVAL, value: 100, expectedVersion: '0' }
    expect(await post('settings.apply', change, { origin: 'http://evil.example' })).toMatchObject({
      status: 403,
      body: { error: { data: { code: 'forbidden', httpStatus: 403 } } },
    })
    expect((await get('settings.history')).body.result?.data['items']).toEqual([])
  })
})

/** A `live` call as tRPC's client writes it on a socket. */
function subscribe(socket: WebSocket, input: object, id = 1): void {
  socket.send(JSON.stringify({ id, jsonrpc: '2.0', method: 'subscription', params: { path: 'live', input } }))
}

function openSocket(
  headers: Record<string, string> = {},
  perMessageDeflate = true,
): Promise<{ readonly socket: WebSocket; readonly frames: LiveFrame[]; readonly messages: string[] }> {
  const socket = new WebSocket(wsUrl, { headers, perMessageDeflate })
  const frames: LiveFrame[] = []
  const messages: string[] = []
  socket.on('message', (data: Buffer) => {
    const text = data.toString()
    messages.push(text)
    if (text.startsWith('{')) {
      const { result } = JSON.parse(text) as { result?: { type: string; data: LiveFrame } }
      if (result?.type === 'data') frames.push(result.data)
    }
  })
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve({ socket, frames, messages }))
    socket.once('error', reject)
  })
}

/** Bytes that came over the wire. */
const received = (socket: WebSocket) => (socket as unknown as { readonly _socket: { readonly bytesRead: number } })._socket.bytesRead

/** Rows as large as they get on a screen, all moving at every lap: some 20 MB/s for one reader. */
const names = Array.from({ length: 200 }, (_, index) => `data-plane-with-a-rather-long-name-${index}`)
const keys = names.map(insightKey)
const moveAll = (version: string) => names.forEach((name) => fake.board.put(insightRow(name, { version, writer: 'w'.repeat(300) })))

describe('live over a WebSocket', () => {
  it('keeps fourteen pages live at once, from a snapshot on', async () => {
    await start()
    fake.board.put(insightRow('a', { version: '1' }))
    const pages = Array.from({ length: 14 }, () => {
      const ws = createWSClient({ url: wsUrl, WebSocket: WebSocket as never })
      const frames: LiveFrame[] = []
      createTRPCClient<AppRouter>({ links: [wsLink({ client: ws })] }).live.subscribe(
        { counters: true, insights: [insightKey('a')] },
        { onData: (frame) => frames.push(frame) },
      )
      return { ws, frames }
    })
    await expect.poll(() => pages.every(({ frames }) => frames[0]?.kind === 'snapshot'), { timeout: 5_000 }).toBe(true)
    expect(api.stats()).toMatchObject({ sockets: 14, subscriptions: 14 })
    expect(fake.board.listeners()).toBe(1)
    fake.board.put(insightRow('a', { version: '2' }))
    const sawIt = ({ frames }: (typeof pages)[number]) => JSON.stringify(frames).includes('"version":"2"')
    await expect.poll(() => pages.every(sawIt), { timeout: 5_000 }).toBe(true)
    await Promise.all(pages.map(({ ws }) => ws.close()))
    await expectNothingLeft()
  })

  it('takes a tenth of the bytes where the peer lets it compress', async () => {
    await start()
    const [plain, compressed] = [await openSocket({}, false), await openSocket()]
    const bytesOf = async ({ socket, frames }: typeof plain) => {
      const before = received(socket)
      subscribe(socket, { insights: keys, counters: true })
      for (let version = 1; version <= 5; version++) {
        moveAll(`v${version}`)
        await expect.poll(() => JSON.stringify(frames).split(`"version":"v${version}"`).length).toBeGreaterThan(keys.length)
      }
      return received(socket) - before
    }
    expect(await bytesOf(compressed)).toBeLessThan((await bytesOf(plain)) / 10)
    for (const { socket } of [plain, compressed]) socket.close()
    await expectNothingLeft()
  })

  it('serves nothing else there', async () => {
    await start()
    const { socket, messages } = await openSocket()
    socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'instances.self' } }))
    socket.send(JSON.stringify({ id: 2, method: 'mutation', params: { path: 'settings.apply', input: {} } }))
    await expect.poll(() => messages.length).toBe(2)
    for (const message of messages) expect(JSON.parse(message)).toMatchObject({ error: { data: { code: 'not_found' } } })
    socket.close()
  })

  it('refuses the sockets of other sites at the upgrade', async () => {
    await start()
    const refused = (headers: Record<string, string>) =>
      openSocket(headers).then(
        () => 'open',
        (error: Error) => error.message,
      )
    expect(await refused({ origin: 'http://evil.example' })).toContain('403')
    expect(await refused({ origin: 'null' })).toContain('403')
    expect(await refused({ host: 'evil.example', origin: 'http://evil.example' })).toContain('403')
    expect(await refused({ origin: `http://localhost:${new URL(url).port}` })).toContain('403')
    expect(await refused({ origin: new URL(url).origin })).toBe('open')
  })

  it('ends the subscription when its page is gone without a word', async () => {
    await start()
    const { socket, frames } = await openSocket()
    subscribe(socket, { counters: true, insights: [insightKey('a')] })
    await expect.poll(() => frames.length).toBeGreaterThan(0)
    socket.terminate()
    await expectNothingLeft()
  })

  it('ends the subscription when the page stops it, and the socket stays', async () => {
    await start()
    const { socket, frames } = await openSocket()
    subscribe(socket, {})
    await expect.poll(() => frames.length).toBeGreaterThan(0)
    socket.send(JSON.stringify({ id: 1, method: 'subscription.stop' }))
    await expect.poll(() => api.stats()).toMatchObject({ sockets: 1, subscriptions: 0 })
    socket.close()
  })

  it('holds at most 256 KB for a page that stops reading, and resyncs it when it reads again', async () => {
    await start({ live: { lapMs: 5 } })
    moveAll('0')
    // Compressed, these rows would take longer to fill the system's buffers than the test has.
    const { socket, frames } = await openSocket({}, false)
    subscribe(socket, { insights: keys, counters: true })
    await expect.poll(() => frames.length).toBeGreaterThan(0)
    socket.pause()

    let most = 0
    let stalledLaps = 0
    for (let version = 1; stalledLaps < 50 && api.stats().sockets > 0; version++) {
      moveAll(`v${version}`)
      await clock.sleep(6)
      const { bufferedBytes } = api.stats()
      most = Math.max(most, bufferedBytes)
      stalledLaps = bufferedBytes > 64 * 1024 ? stalledLaps + 1 : 0
    }
    expect(most).toBeLessThanOrEqual(MAX_BUFFERED_BYTES)
    expect(api.stats()).toMatchObject({ sockets: 1, subscriptions: 1 })

    frames.length = 0
    moveAll('last')
    socket.resume()
    await expect.poll(() => frames.findLast(({ kind }) => kind === 'snapshot'), { timeout: 10_000 }).toBeDefined()
    const snapshot = frames.findLast((frame) => frame.kind === 'snapshot')
    expect(snapshot?.insights?.every(({ version }) => version === 'last')).toBe(true)
    socket.close()
    await expectNothingLeft()
  })

  it('drops a page that never reads, by its silence to the ping', async () => {
    await start({ sockets: { pingMs: 300 } })
    const [{ socket }, { socket: healthy, frames }] = await Promise.all([openSocket(), openSocket()])
    subscribe(socket, { insights: keys })
    subscribe(healthy, {})
    socket.pause()
    // It goes on sending, which proves nothing of its reading.
    const sending = (async () => {
      while (api.stats().sockets === 2) {
        socket.send('PING')
        await clock.sleep(20)
      }
    })()
    await expect.poll(() => api.stats().sockets, { timeout: 10_000 }).toBe(1)
    await sending
    await clock.sleep(700)
    expect(frames.length).toBeGreaterThan(0)
    expect(healthy.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
    healthy.close()
    await expectNothingLeft()
  })

  it('drops a page that asks and asks and never reads the answers, before they pile up', async () => {
    await start({ sockets: { pingMs: 600_000 } })
    const { socket } = await openSocket()
    socket.pause()
    const nonsense = JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, method: 'query', params: { path: 'none' } })))
    let most = 0
    for (let round = 0; round < 500 && api.stats().sockets === 1; round++) {
      socket.send(nonsense)
      await clock.sleep(5)
      most = Math.max(most, api.stats().bufferedBytes)
    }
    expect(api.stats().sockets).toBe(0)
    expect(most).toBeLessThan(MAX_BUFFERED_BYTES + 1_024)
    socket.terminate()
    await expectNothingLeft()
  })

  it('hangs up when it stops, without telling pages that their subscription is over: they come back', async () => {
    await start()
    const { socket, messages, frames } = await openSocket()
    subscribe(socket, { counters: true })
    await expect.poll(() => frames.length).toBeGreaterThan(0)
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await api.close()
    expect(await closed).toBe(1001)
    expect(messages.join('')).not.toContain('"type":"stopped"')
    await expectNothingLeft()
  })

  it('does not wait for a page that does not answer when it stops', async () => {
    await start()
    const { socket } = await openSocket()
    socket.pause()
    const before = clock.monotonic()
    await api.close()
    expect(clock.monotonic() - before).toBeLessThan(5_000)
    socket.terminate()
  })
})

describe('live as an event stream', () => {
  async function* events(response: Response): AsyncGenerator<{ event: string; data: unknown }> {
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const lines = text
          .slice(0, end)
          .split('\n')
          .filter((line) => line !== '')
        text = text.slice(end + 2)
        const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
        if (lines.length > 0) yield { event: field('event'), data: JSON.parse(field('data') || 'null') }
      }
    }
  }

  const follow = (input: object, signal?: AbortSignal) =>
    fetch(`${url}/live?input=${encodeURIComponent(JSON.stringify(input))}`, {
      signal: signal ?? null,
      headers: { 'accept-encoding': 'gzip' },
    })

  it('is sent as it happens, past anything that compresses or buffers', async () => {
    await start()
    fake.board.put(insightRow('a'))
    const leaving = new AbortController()
    const response = await follow({ insights: [insightKey('a')] }, leaving.signal)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(response.headers.get('cache-control')).toContain('no-transform')
    expect(response.headers.get('content-encoding')).toBeNull()
    const stream = events(response)
    expect((await stream.next()).value).toMatchObject({ event: 'connected' })
    expect((await stream.next()).value).toMatchObject({ data: { kind: 'snapshot', insights: [{ version: '1' }] } })
    fake.board.put(insightRow('a', { version: '2' }))
    expect((await stream.next()).value).toMatchObject({ data: { kind: 'upsert', value: { version: '2' } } })
    fake.board.remove(insightKey('a'))
    expect((await stream.next()).value).toMatchObject({ data: { kind: 'remove', key: insightKey('a') } })
    expect((await stream.next()).value).toMatchObject({ data: { kind: 'tick' } })
    leaving.abort()
    await expectNothingLeft()
  })

  it('takes a resume id and begins with a snapshot all the same', async () => {
    await start()
    const leaving = new AbortController()
    const response = await fetch(`${url}/live`, { headers: { 'last-event-id': '7' }, signal: leaving.signal })
    const stream = events(response)
    await stream.next()
    expect((await stream.next()).value).toMatchObject({ data: { kind: 'snapshot' } })
    leaving.abort()
    await expectNothingLeft()
  })

  it('says what is wrong with the scope', async () => {
    await start()
    const stream = events(await follow({ insights: Array.from({ length: 201 }, (_, index) => insightKey(`dp-${index}`)) }))
    await stream.next()
    expect((await stream.next()).value).toMatchObject({
      event: 'serialized-error',
      data: { message: 'insights: at most 200 keys: ask for the rows on screen', data: { code: 'invalid' } },
    })
  })

  it('ends when the process stops', async () => {
    await start()
    const stream = events(await follow({ counters: true }))
    await stream.next()
    await stream.next()
    await api.close()
    let last = ''
    for await (const { event } of stream) last = event
    expect(last).toBe('return')
    await expectNothingLeft()
  })

  it('holds little for a script that does not read, and hangs up on it after a while', async () => {
    await start({ live: { lapMs: 5 }, eventStreamStallMs: 500 })
    const scope = encodeURIComponent(JSON.stringify({ insights: keys }))
    const asked = httpRequest(`${url}/live?input=${scope}`, (response) => response.pause())
    const hungUp = new Promise((resolve) => asked.on('close', resolve))
    asked.on('error', () => {}).end()
    let most = 0
    const isHeld = () => fake.board.listeners() === 1
    await expect.poll(isHeld).toBe(true)
    for (let version = 1; version < 5_000 && isHeld(); version++) {
      moveAll(`v${version}`)
      await clock.sleep(5)
      for (const { writableLength } of serverSockets) most = Math.max(most, writableLength)
    }
    expect(isHeld()).toBe(false)
    expect(most).toBeLessThanOrEqual(MAX_BUFFERED_BYTES)
    asked.destroy()
    await hungUp
    await expectNothingLeft()
  })
})

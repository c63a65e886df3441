import { once } from 'node:events'
import { connect } from 'node:net'
import { get, type IncomingMessage, request, type Server } from 'node:http'
import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { createSystemClock } from './lib/clock.ts'
import { createHttpServer, listen, type Served } from './http-server.ts'

const clock = createSystemClock()
const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
})

const notOurs: Served['api'] = { request: () => false, upgrade: () => false }
async function start(served: Partial<Served> = {}): Promise<string> {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  const server = createHttpServer({
    config: { dev: false },
    log,
    controlPlane: { clock, metricsText: async () => 'x 1\n', notReadyBecause: () => [] },
    api: notOurs,
    pages: undefined,
    ...served,
  })
  servers.push(server)
  return listen(server, { host: '127.0.0.1', port: 0 }, log)
}
const pagesOf = (request: NonNullable<Served['pages']>['request']): Served['pages'] => ({ request, upgrade: () => false })
/** How an attempt to open a socket ends. */
const openSocket = (url: string, headers: Record<string, string> = {}) =>
  new Promise<string>((resolve) => {
    const socket = new WebSocket(url.replace('http', 'ws'), { headers })
    socket.on('error', ({ message }) => resolve(message))
    socket.on('open', () => resolve('open'))
  })

describe('the HTTP server', () => {
  it('is not ready while there is a reason, and says which', async () => {
    const url = await start({
      controlPlane: { clock, metricsText: async () => '', notReadyBecause: () => ['the store does not answer: disk full'] },
    })
    const ready = await fetch(`${url}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([503, { ready: false, reasons: ['the store does not answer: disk full'] }])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  it('gives Prometheus its text, fresh each time', async () => {
    const answer = await fetch(`${await start()}/metrics?x=1`)
    expect(await answer.text()).toBe('x 1\n')
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('answers what fails with 500 that tells nothing, and goes on', async () => {
    const url = await start({
      controlPlane: { clock, metricsText: () => Promise.reject(new Error('secret')), notReadyBecause: () => [] },
      pages: pagesOf(async (_req, res) => {
        res.write('half a page')
        throw new Error('secret')
      }),
    })
    const failed = await fetch(`${url}/metrics`)
    expect([failed.status, await failed.text()]).toEqual([500, 'something went wrong here; the log says what\n'])
    await expect(fetch(`${url}/page`).then((answer) => answer.text())).rejects.toThrow('terminated')
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  it('puts the policy of a page on its request, where the framework looks for the nonce', async () => {
    let asked: IncomingMessage['headers'] = {}
    const url = await start({
      pages: pagesOf(async (req, res) => {
        asked = req.headers
        res.end()
      }),
    })
    const policy = (await fetch(`${url}/`)).headers.get('content-security-policy')
    expect(policy).toMatch(/script-src 'self' 'nonce-[\da-f]{32}' 'strict-dynamic';.*frame-ancestors 'none'/)
    expect(asked['content-security-policy']).toBe(policy)
  })

  it('has no pages without them', async () => {
    const answer = await fetch(`${await start()}/insights`)
    expect([answer.status, await answer.text()]).toEqual([404, 'no pages: started with --no-ui\n'])
  })

  it('hangs up on sockets that are not the API, unless pages are developed, and then on foreign hosts', async () => {
    let taken = 0
    const developed: Partial<Served> = {
      config: { dev: true },
      pages: {
        request: async () => undefined,
        upgrade(_req, socket) {
          taken++
          socket.end('HTTP/1.1 418 Taken\r\n\r\n')
          return true
        },
      },
    }
    const hungUp = 'socket hang up'
    expect(await openSocket(`${await start()}/_next/hmr`)).toBe(hungUp)
    expect(await openSocket(`${await start({ ...developed, config: { dev: false } })}/_next/hmr`)).toBe(hungUp)
    const url = await start(developed)
    expect(await openSocket(`${url}/_next/hmr`, { host: 'evil.example' })).toBe(hungUp)
    expect(taken).toBe(0)
    expect(await openSocket(`${url}/_next/hmr`)).toContain('418')
  })

  it('answers nothing to a Host that is not this machine', async () => {
    const url = await start({ pages: pagesOf(async (_req, res) => void res.end()) })
    const statusOf = (path: string) =>
      new Promise((resolve, reject) =>
        get(`${url}${path}`, { headers: { host: 'evil.example' } }, (answer) => resolve(answer.resume().statusCode)).on('error', reject),
      )
    for (const path of ['/', '/metrics', '/healthz', '/readyz']) expect(await statusOf(path)).toBe(403)
  })

  it('does not wait for ever for a request that drips', async () => {
    const url = new URL(await start({ arrival: { headersMs: 200, requestMs: 400, checkEveryMs: 50 } }))
    const answerTo = async (head: string) => {
      const socket = connect(Number(url.port), url.hostname)
      let answer = ''
      socket.on('data', (part: Buffer) => (answer += part.toString()))
      socket.on('error', () => undefined)
      socket.write(head)
      await new Promise((resolve) => socket.once('close', resolve))
      return answer.split('\r\n', 1)[0]
    }
    expect(await answerTo('GET /healthz HTTP/1.1\r\nhost: ')).toBe('HTTP/1.1 408 Request Timeout')
    const slowBody = await answerTo(`POST /healthz HTTP/1.1\r\nhost: ${url.host}\r\ncontent-length: 100\r\n\r\n{`)
    expect(slowBody).toMatch(/^HTTP\/1.1 (200|408)/)
  })

  it('says what is wrong with requests that are none, and shows nothing of its inside', async () => {
    const url = new URL(await start())
    const answerTo = async (bytes: string) => {
      const socket = connect(Number(url.port), url.hostname)
      let answer = ''
      socket.on('data', (part: Buffer) => (answer += part.toString()))
      socket.on('error', () => undefined)
      socket.end(bytes)
      await new Promise((resolve) => socket.once('close', resolve))
      return answer
    }
    const asking = (target: string, more = '') => `GET ${target} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: close\r\n${more}\r\n`
    expect(await answerTo('\0\0\0')).toMatch(/^HTTP\/1.1 400/)
    expect(await answerTo(asking(`/${'x'.repeat(100_000)}`))).toMatch(/^HTTP\/1.1 431/)
    expect(await answerTo(asking('/', `x: ${'x'.repeat(100_000)}\r\n`))).toMatch(/^HTTP\/1.1 431/)
    expect(await answerTo(asking('/', 'host: evil.example\r\n'))).toMatch(/^HTTP\/1.1 (400|403|404)/)
    for (const target of ['/../../etc/passwd', '/_next/static/%2e%2e/%2e%2e/package.json', '//evil.example/', '/%', 'http://evil.example/'])
      expect(await answerTo(asking(target))).toMatch(/^HTTP\/1.1 4\d\d[^]*(no pages|not served)/)
  })

  it('asks the pages for nothing that they cannot be asked', async () => {
    let asked = 0
    const url = new URL(await start({ pages: pagesOf(async (_req, res) => (asked++, void res.end())) }))
    const statusOf = (method: string, path: string) =>
      new Promise((resolve, reject) =>
        request({ host: url.hostname, port: url.port, method, path }, (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end(),
      )
    for (const target of ['*', '//evil.example/', 'http://evil.example/']) expect(await statusOf('GET', target)).toBe(400)
    for (const method of ['TRACE', 'PUT', 'POST', 'DELETE']) expect(await statusOf(method, '/insights')).toBe(405)
    expect(asked).toBe(0)
    expect(await statusOf('HEAD', '/insights')).toBe(200)
  })

  it('hangs up on connections beyond its bound, says so once, and serves again when others have closed', async () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) })
    const url = await start({ log, maxConnections: 2 })
    const dial = () => connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
    const held = [dial(), dial()]
    await Promise.all(held.map((socket) => once(socket, 'connect')))
    await Promise.all(Array.from({ length: 20 }, () => once(dial().resume(), 'close')))
    expect(lines).toEqual(['2 connections are open: further ones are hung up on until some have closed'])
    for (const socket of held) socket.destroy()
    await vi.waitFor(async () => expect((await fetch(`${url}/healthz`)).status).toBe(200))
  })

  it('names the port that is taken', async () => {
    const { port } = new URL(await start())
    const second = createHttpServer({
      config: { dev: false },
      log: pino({ level: 'silent' }),
      controlPlane: { clock, metricsText: async () => '', notReadyBecause: () => [] },
      api: notOurs,
      pages: undefined,
    })
    await expect(listen(second, { host: '127.0.0.1', port: Number(port) }, pino({ level: 'silent' }))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(new RegExp(`127.0.0.1:${port}.*choose another --port`)),
    })
  })
})

import { get, type IncomingMessage, type Server } from 'node:http'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createHttpServer, listen, type Served } from './http-server.ts'

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
    controlPlane: { metricsText: async () => 'x 1\n', notReadyBecause: () => [] },
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
      controlPlane: { metricsText: async () => '', notReadyBecause: () => ['the store does not answer: disk full'] },
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
      controlPlane: { metricsText: () => Promise.reject(new Error('secret')), notReadyBecause: () => [] },
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

  it('names the port that is taken', async () => {
    const { port } = new URL(await start())
    const second = createHttpServer({
      config: { dev: false },
      log: pino({ level: 'silent' }),
      controlPlane: { metricsText: async () => '', notReadyBecause: () => [] },
      api: notOurs,
      pages: undefined,
    })
    await expect(listen(second, { host: '127.0.0.1', port: Number(port) }, pino({ level: 'silent' }))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(new RegExp(`127.0.0.1:${port}.*choose another --port`)),
    })
  })
})

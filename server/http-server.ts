import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { ApiHandler } from './api/http-handler.ts'
import { refuseHost } from './api/origin-guard.ts'
import { CoreError } from './lib/errors.ts'
import { toHostPort } from './lib/host-port.ts'
import { createSparseLog } from './lib/sparse-log.ts'
import { newRandomId } from './lib/random.ts'
import type { Pages } from './pages.ts'
import type { Config } from './runtime/config.ts'
import type { ControlPlane } from './runtime/control-plane.ts'

/** A script follows up to 200 rows by GET, and their keys are in the URL: Node's 16 KB are too few. */
const MAX_HEADER_BYTES = 64 * 1024
/** A peer that sends its request a byte at a time is not held for ever. */
const slowest: ArrivalBounds = { headersMs: 10_000, requestMs: 30_000, checkEveryMs: 2_000 }
/** All pages and scripts there may be, several times over. */
const MAX_CONNECTIONS = 4_096

/** How long a request may take to arrive; an answer may take as long as it likes. */
export interface ArrivalBounds {
  readonly headersMs: number
  /** With its body. */
  readonly requestMs: number
  readonly checkEveryMs: number
}

export interface Served {
  readonly config: Pick<Config, 'dev'>
  readonly log: Logger
  readonly controlPlane: Pick<ControlPlane, 'clock' | 'metricsText' | 'notReadyBecause'>
  readonly api: Pick<ApiHandler, 'request' | 'upgrade'>
  readonly pages: Pages | undefined
  readonly arrival?: ArrivalBounds
  readonly maxConnections?: number
}

/** Health, metrics, API and pages. Whose Host is not this machine is answered by none of them. */
export function createHttpServer({
  config,
  log,
  controlPlane,
  api,
  pages,
  arrival = slowest,
  maxConnections = MAX_CONNECTIONS,
}: Served): Server {
  const bounds = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: arrival.headersMs,
    requestTimeout: arrival.requestMs,
    connectionsCheckingInterval: arrival.checkEveryMs,
  }
  const server = createServer(bounds, (req, res) => {
    answer(req, res).catch((error: unknown) => {
      log.error({ err: error, path: pathOf(req) }, 'a request failed unexpectedly; its caller was told only that')
      if (res.headersSent) res.destroy()
      else say(res, { status: 500, type: 'text/plain', body: 'something went wrong here; the log says what\n' })
    })
  })
  server.maxConnections = maxConnections
  const refusals = createSparseLog(controlPlane.clock)
  server.on('close', refusals.stop)
  server.on('drop', () =>
    refusals.note('full', (count) =>
      log.warn({ count }, `${maxConnections} connections are open: further ones are hung up on until some have closed`),
    ),
  )
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (api.upgrade(req, socket, head)) return
    socket.on('error', () => socket.destroy())
    // Pages open sockets of their own only while they are developed.
    const isTaken = config.dev && refusalOf(req) === undefined && pages?.upgrade(req, socket, head) === true
    if (!isTaken) socket.destroy()
  })
  return server

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.setHeader('x-content-type-options', 'nosniff')
    res.setHeader('referrer-policy', 'same-origin')
    const path = pathOf(req)
    if (api.request(req, res)) return
    const refusal = refusalOf(req)
    if (refusal !== undefined) return say(res, { status: refusal.status, type: 'text/plain', body: `${refusal.message}\n` })
    if (path === '/healthz') return say(res, { status: 200, type: 'application/json', body: '{"ok":true}' })
    if (path === '/readyz') return say(res, readiness())
    if (path === '/metrics')
      return say(res, { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: await controlPlane.metricsText() })
    if (pages === undefined) return say(res, { status: 404, type: 'text/plain', body: 'no pages: started with --no-ui\n' })
    const fault = faultOf(req)
    if (fault !== undefined) return say(res, { ...fault, type: 'text/plain' })
    protectPage(req, { res, dev: config.dev })
    await pages.request(req, res)
  }

  /** What pages cannot be asked: of a target that is no path they would make a failure of theirs. */
  function faultOf({ url = '', method = '' }: IncomingMessage) {
    if (!url.startsWith('/') || url.startsWith('//'))
      return { status: 400, body: 'a page is asked for by its path, which begins with one /\n' }
    // While pages are developed, they post to what helps with it.
    if (!config.dev && method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'pages are read with GET and HEAD alone\n' }
    return undefined
  }

  function readiness() {
    const reasons = controlPlane.notReadyBecause()
    return {
      status: reasons.length === 0 ? 200 : 503,
      type: 'application/json',
      body: JSON.stringify({ ready: reasons.length === 0, ...(reasons.length > 0 && { reasons }) }),
    }
  }
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?', 1)[0] ?? '/'
}

function refusalOf(req: IncomingMessage) {
  return refuseHost({ host: req.headers.host, port: req.socket.localPort })
}

function say(res: ServerResponse, { status, type, body }: { readonly status: number; readonly type: string; readonly body: string }) {
  res.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
  res.end(body)
}

/** Only our own scripts run, each by a nonce; on the request too, where Next finds it. */
function protectPage(req: IncomingMessage, { res, dev }: { readonly res: ServerResponse; readonly dev: boolean }) {
  const nonce = newRandomId().replaceAll('-', '')
  const policy = [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${dev ? " 'unsafe-eval'" : ''}`,
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ')
  req.headers['content-security-policy'] = policy
  res.setHeader('content-security-policy', policy)
}

/** Resolves with the URL; rejects with `unavailable` when the port can't be taken. */
export async function listen(server: Server, { host, port }: Pick<Config, 'host' | 'port'>, log: Logger): Promise<string> {
  try {
    server.listen({ host, port })
    await once(server, 'listening')
  } catch (error) {
    const { message } = error as Error
    throw new CoreError('unavailable', `can't listen on ${toHostPort(host, port)}: ${message}; choose another --port`, { cause: error })
  }
  // Out of file descriptors, for example: this connection is lost, the next may not be.
  server.on('error', (error) => log.error({ err: error }, 'a connection could not be accepted'))
  return `http://${toHostPort(host, (server.address() as AddressInfo).port)}`
}

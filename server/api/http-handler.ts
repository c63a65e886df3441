import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http'
import type { Logger } from 'pino'
import type { ControlPlane } from '../runtime/control-plane.ts'
import { callerName, OPERATOR_HEADER } from './caller-name.ts'
import type { ApiContext } from './context.ts'
import { isUnexpected, refusalShape } from './error-shape.ts'
import type { Tidewatch } from './handle.ts'
import { createLiveFeed, type LiveFeedOptions } from './live-feed.ts'
import { createLiveSockets, type LiveSocketsOptions, refuseUpgrade } from './live-sockets.ts'
import { refusalOf, type RequestOrigin } from './origin-guard.ts'
import { appRouter } from './router.ts'

export interface ApiHandler {
  /** For server components: publish it before pages are served. */
  readonly handle: Tidewatch
  /** Answers what is under /api/trpc/; false: not ours, nothing was done. */
  request(req: IncomingMessage, res: ServerResponse): boolean
  /** Takes or refuses upgrades of /api/trpc; false: not ours, nothing was done. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** What it holds now: all 0 when nobody looks. */
  stats(): { readonly sockets: number; readonly bufferedBytes: number; readonly subscriptions: number }
  /** Hangs up on every page and script that follows live; calls under way are answered. */
  close(): Promise<void>
}

export interface ApiHandlerOptions {
  readonly logger: Logger
  /** Names this process is reached by beside loopback ones: `name` or `name:port`. */
  readonly allowedHosts?: readonly string[]
  /**
   * A script that follows live by GET and takes no byte for this long is hung up on: nothing pings it, so it would be held for
   * ever. Default 60,000.
   */
  readonly eventStreamStallMs?: number
  readonly live?: LiveFeedOptions
  readonly sockets?: LiveSocketsOptions
}

const PATH = '/api/trpc'
const MAX_BODY_BYTES = 1024 * 1024
/** Calls in one batch; a page makes fewer than ten. */
const MAX_BATCH = 50

export function createApiHandler(controlPlane: ControlPlane, options: ApiHandlerOptions): ApiHandler {
  const { logger, allowedHosts = [], eventStreamStallMs = 60_000 } = options
  const live = createLiveFeed(
    {
      board: controlPlane.board,
      links: controlPlane.links,
      attention: controlPlane.attention,
      readers: controlPlane.readers,
      clock: controlPlane.clock,
      counters: () => controlPlane.counters(),
    },
    options.live,
  )

  const contextOf = (caller: ApiContext['caller']): ApiContext => ({ controlPlane, live, logger, caller })
  const remoteContext = (req: IncomingMessage, connection: object, bufferedAmount: () => number) =>
    contextOf({ name: callerName(req.headers[OPERATOR_HEADER], req.socket.remoteAddress), connection, bufferedAmount })
  const sockets = createLiveSockets(
    {
      logger,
      clock: controlPlane.clock,
      readers: controlPlane.readers,
      createContext: (req, socket) => remoteContext(req, socket, () => socket.bufferedAmount),
    },
    options.sockets,
  )

  return {
    handle: {
      router: appRouter,
      createContext: () => contextOf({ name: 'operator@server', connection: {}, bufferedAmount: () => 0 }),
    },
    request(req, res) {
      const path = pathOf(req)
      if (!path.startsWith(`${PATH}/`)) return false
      const refusal = refusalOf(originOf(req, false), allowedHosts)
      if (refusal !== undefined) {
        res.writeHead(refusal.status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        res.end(JSON.stringify(refusalShape(refusal)))
        return true
      }
      // tRPC refuses the others; of this one it cannot even make a request.
      if (req.method === 'TRACE') {
        res.writeHead(405, { 'content-type': 'application/json', 'cache-control': 'no-store', allow: 'GET, HEAD, POST' })
        res.end(JSON.stringify(refusalShape({ status: 405, code: 'unsupported', message: 'TRACE is not answered here' })))
        return true
      }
      if (isEventStream(req)) res.setTimeout(eventStreamStallMs, () => res.destroy())
      // Its promise never rejects: what it cannot answer it answers with 500.
      void nodeHTTPRequestHandler({
        req,
        res,
        path: path.slice(PATH.length + 1),
        router: appRouter,
        createContext: () => remoteContext(req, res, () => res.writableLength),
        maxBodySize: MAX_BODY_BYTES,
        maxBatchSize: MAX_BATCH,
        // 200 long keys do not fit into a URL: queries may be posted.
        allowMethodOverride: true,
        responseMeta: ({ type }) => (type === 'subscription' ? {} : { headers: new Headers({ 'cache-control': 'no-store' }) }),
        onError: ({ error, path: at }) => {
          if (isUnexpected(error)) logger.error({ err: error, path: at }, 'a call failed unexpectedly; its caller was told only that')
        },
      })
      return true
    },
    upgrade(req, socket, head) {
      const path = pathOf(req)
      if (path !== PATH && path !== `${PATH}/`) return false
      const refusal = refusalOf(originOf(req, true), allowedHosts)
      if (refusal === undefined) sockets.accept(req, socket, head)
      else refuseUpgrade(socket, refusal.status, JSON.stringify(refusalShape(refusal)))
      return true
    },
    stats: () => ({ ...sockets.stats(), subscriptions: live.size() }),
    async close() {
      // Sockets first: a subscription that ended by itself would not be opened again by the page when we are back.
      const closed = sockets.close()
      live.close()
      await closed
    },
  }
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? '').split('?', 1)[0] ?? ''
}

function isEventStream(req: IncomingMessage): boolean {
  return pathOf(req) === `${PATH}/live`
}

function originOf({ method, headers, socket }: IncomingMessage, isUpgrade: boolean): RequestOrigin {
  return {
    method: method ?? '',
    isUpgrade,
    host: headers.host,
    origin: headers.origin,
    fetchSite: headers['sec-fetch-site'],
    contentType: headers['content-type'],
    port: socket.localPort,
  }
}

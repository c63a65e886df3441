import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import type { Logger } from 'pino'
import { WebSocket, WebSocketServer } from 'ws'
import type { Clock, Timer } from '../lib/clock.ts'
import type { SlowReaders } from '../telemetry/slow-readers.ts'
import type { ApiContext } from './context.ts'
import { isUnexpected } from './error-shape.ts'
import { socketRouter } from './router.ts'

/** The WebSockets that carry `live`: one a tab. */
export interface LiveSockets {
  /** Takes a connection whose Host and Origin were checked. */
  accept(req: IncomingMessage, socket: Duplex, head: Buffer): void
  stats(): { readonly sockets: number; readonly bufferedBytes: number }
  /** Tells every peer to come back later and hangs up; resolves when all are gone. */
  close(): Promise<void>
}

export interface LiveSocketsDeps {
  readonly createContext: (req: IncomingMessage, socket: WebSocket) => ApiContext
  readonly clock: Clock
  readonly readers: Pick<SlowReaders, 'dropped'>
  readonly logger: Logger
}

export interface LiveSocketsOptions {
  /** Each peer is pinged this often and dropped when it has not answered by the next one. Default 15,000. */
  readonly pingMs?: number
  /** Default 1,000. */
  readonly maxSockets?: number
}

/** What may wait in this process for one peer that does not read; beyond it the peer is dropped. */
export const MAX_BUFFERED_BYTES = 256 * 1024
/** A `live` call with 200 of the longest keys fits. */
const MAX_MESSAGE_BYTES = 256 * 1024
/**
 * A frame is mostly what the one before it was: with the last 32 KB in mind it shrinks to a tenth or less.
 * About 160 KB a peer on our side, and nothing kept of what peers send.
 */
const COMPRESSION = {
  threshold: 32,
  clientNoContextTakeover: true,
  zlibDeflateOptions: { level: 6, memLevel: 6 },
}
/** How long a peer may take over saying goodbye. */
const CLOSE_GRACE_MS = 1_000
const GOING_AWAY = 1001
/** Pings later than this are of a process that did not run: what peers answered meanwhile is not read yet. */
const LATE_MS = 1_000

type Message = Parameters<WebSocket['send']>[0]
type Sent = (error?: Error) => void

/** The feed keeps a slow reader's queue short; this holds for whatever else is answered on a socket (pongs, errors), too. */
class BoundedWebSocket extends WebSocket {
  onOverflow = () => {}

  override send(message: Message, options?: object | Sent, sent?: Sent): void {
    if (this.bufferedAmount > MAX_BUFFERED_BYTES) {
      if (this.readyState === WebSocket.OPEN) this.onOverflow()
      this.terminate()
    } else if (typeof options === 'object') super.send(message, options, sent)
    else super.send(message, options)
  }
}

export function createLiveSockets(
  { createContext, clock, readers, logger }: LiveSocketsDeps,
  options: LiveSocketsOptions = {},
): LiveSockets {
  const { pingMs = 15_000, maxSockets = 1_000 } = options
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    WebSocket: BoundedWebSocket,
    perMessageDeflate: COMPRESSION,
  })
  /** Peers that have answered the last ping; only a pong counts, for a peer may send and never read. */
  const alive = new Set<WebSocket>()
  let pinging: Timer | undefined

  applyWSSHandler({
    wss: server,
    router: socketRouter,
    createContext: ({ req, res }) => createContext(req, res),
    onError: ({ error, path }) => {
      if (isUnexpected(error) && !isTheirFault(error.cause))
        logger.error({ err: error, path }, 'a live subscription failed unexpectedly; its page will subscribe again')
    },
  })

  server.on('connection', (socket) => {
    alive.add(socket)
    if (socket instanceof BoundedWebSocket) socket.onOverflow = readers.dropped
    socket.on('pong', () => alive.add(socket))
    socket.on('close', () => {
      alive.delete(socket)
      if (server.clients.size === 0) stopPinging()
    })
    pinging ??= pingIn(pingMs)
  })

  function pingIn(ms: number): Timer {
    const dueAt = clock.monotonic() + ms
    return clock.at(dueAt, () => {
      if (clock.monotonic() - dueAt > LATE_MS) pinging = pingIn(LATE_MS)
      else pingAll()
    })
  }

  function pingAll(): void {
    for (const socket of server.clients) {
      if (!alive.delete(socket)) {
        readers.dropped()
        socket.terminate()
      } else if (socket.readyState === WebSocket.OPEN) socket.ping()
    }
    pinging = server.clients.size === 0 ? undefined : pingIn(pingMs)
  }

  function stopPinging(): void {
    pinging?.cancel()
    pinging = undefined
  }

  return {
    accept(req, socket, head) {
      if (server.clients.size >= maxSockets) refuseUpgrade(socket, 503, JSON.stringify({ message: `${maxSockets} pages are live already` }))
      else server.handleUpgrade(req, socket, head, (accepted) => server.emit('connection', accepted, req))
    },
    stats() {
      let bufferedBytes = 0
      for (const { bufferedAmount } of server.clients) bufferedBytes += bufferedAmount
      return { sockets: server.clients.size, bufferedBytes }
    },
    async close() {
      server.close()
      const gone = Promise.all([...server.clients].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
      for (const socket of server.clients) socket.close(GOING_AWAY, 'Tidewatch is stopping')
      const grace = clock.at(clock.monotonic() + CLOSE_GRACE_MS, () => {
        for (const socket of server.clients) socket.terminate()
      })
      await gone
      grace.cancel()
      stopPinging()
    },
  }
}

/** What `ws` says of bytes that are no frames: it has hung up on that peer. */
function isTheirFault(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && String(cause.code).startsWith('WS_ERR_')
}

/** Answers an upgrade with plain HTTP and hangs up. */
export function refuseUpgrade(socket: Duplex, status: number, body: string): void {
  socket.once('finish', () => socket.destroy())
  socket.on('error', () => socket.destroy())
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

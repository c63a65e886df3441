/**
 * The process: reads its configuration, builds the control plane, serves pages, API, metrics and health over HTTP, and
 * stops in order, with last flushes, on a signal or a fatal error.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Logger, pino } from 'pino'
import { publishHandle } from './api/handle.ts'
import { type ApiHandler, createApiHandler } from './api/http-handler.ts'
import { refuseHost } from './api/origin-guard.ts'
import { createSystemClock } from './lib/clock.ts'
import { CoreError, isCoreError } from './lib/errors.ts'
import { newRandomId } from './lib/random.ts'
import { createPages, type Pages } from './pages.ts'
import { type Config, readProcessConfig } from './runtime/config.ts'
import { createControlPlane, type Overrides, type RunningControlPlane } from './runtime/create-control-plane.ts'

/** A script follows up to 200 rows by GET, and their keys are in the URL: Node's 16 KB are too few. */
const MAX_HEADER_BYTES = 64 * 1024
const EXIT_FATAL = 1
const EXIT_REFUSED = 2
/** After the signal to stop; a supervisor outside usually waits 10 s. */
const STOP_WITHIN_MS = 9_000

if (import.meta.main) await runTidewatch(process.argv.slice(2))

/** Runs until a signal or a fatal error, and ends the process with 0, 1 (fatal) or 2 (refused to start, with one line that says why). */
export async function runTidewatch(args: readonly string[], overrides: Overrides = {}): Promise<void> {
  // Next and others print there; stdout is for the one line that scripts read.
  console.log = console.error
  try {
    const config = readProcessConfig(args)
    const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }))
    await serve(config, log, overrides)
  } catch (error) {
    if (!isCoreError(error)) throw error
    console.error(`tidewatch: ${error.message}`)
    process.exit(EXIT_REFUSED)
  }
}

async function serve(config: Config, log: Logger, overrides: Overrides): Promise<void> {
  const clock = createSystemClock()
  const stopping = new AbortController()
  let exitCode = 0
  const stop = (code: number) => {
    exitCode = Math.max(exitCode, code)
    stopping.abort()
  }
  const controlPlane = await createControlPlane(config, log, overrides)
  const api = createApiHandler(controlPlane, { logger: log })
  publishHandle(api.handle)
  const pages = config.noUi ? undefined : await createPages(config)
  catchEverything(log, { controlPlane, stop })

  await controlPlane.listen()
  const running = controlPlane.run(stopping.signal)
  await controlPlane.board.ready()
  const server = createHttpServer({ controlPlane, api, pages, dev: config.dev })
  const url = await listen(server, config)
  controlPlane.setUrl(url)
  const { xds, kds, pid } = controlPlane.self()
  process.stdout.write(`${JSON.stringify({ msg: 'listening', url, xds, kds, pid })}\n`)
  log.info({ url, xds }, 'Tidewatch listens')

  if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve, { once: true }))
  log.info('stopping: last flushes')
  const deadline = clock.at(clock.monotonic() + STOP_WITHIN_MS, () => {
    log.error(`not stopped within ${STOP_WITHIN_MS} ms`)
    process.exit(EXIT_FATAL)
  })
  server.close()
  server.closeIdleConnections()
  await api.close()
  await running
  server.closeAllConnections()
  await controlPlane.close()
  deadline.cancel()
  log.info('stopped')
  process.exit(exitCode)
}

/** After Next, which would only log what it catches and go on with half a process. */
function catchEverything(
  log: Logger,
  { controlPlane, stop }: { readonly controlPlane: RunningControlPlane; readonly stop: (code: number) => void },
) {
  // `on`, never `once`: Ctrl-C comes twice, and the second must not kill the last flush.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(0))
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'nobody caught this: last flushes, then the process ends')
    stop(EXIT_FATAL)
  })
  process.on('unhandledRejection', (reason) => {
    controlPlane.countUnhandledRejection()
    log.error({ err: reason }, 'a promise was rejected and nobody looked')
  })
}

interface Served {
  readonly controlPlane: RunningControlPlane
  readonly api: ApiHandler
  readonly pages: Pages | undefined
  readonly dev: boolean
}

function createHttpServer({ controlPlane, api, pages, dev }: Served): Server {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (req, res) => void answer(req, res))
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (api.upgrade(req, socket, head)) return
    if (pages === undefined) socket.destroy()
    else void pages.upgrade(req, socket, head)
  })
  return server

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.setHeader('x-content-type-options', 'nosniff')
    res.setHeader('referrer-policy', 'same-origin')
    const path = (req.url ?? '/').split('?', 1)[0]
    if (api.request(req, res)) return
    const refusal = refuseHost({ host: req.headers.host, port: req.socket.localPort })
    if (refusal !== undefined) return say(res, { status: refusal.status, type: 'text/plain', body: `${refusal.message}\n` })
    if (path === '/healthz') return say(res, { status: 200, type: 'application/json', body: '{"ok":true}' })
    if (path === '/readyz') return say(res, readiness())
    if (path === '/metrics')
      return say(res, { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: await controlPlane.metricsText() })
    if (pages === undefined) return say(res, { status: 404, type: 'text/plain', body: 'no pages: started with --no-ui\n' })
    protectPage(req, { res, dev })
    await pages.request(req, res)
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

async function listen(server: Server, { host, port }: Config): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new CoreError('unavailable', `can't listen on ${host}:${port}: ${error.message}; choose another --port`, { cause: error })),
    )
    server.listen({ host: host.replaceAll(/[[\]]/g, ''), port }, resolve)
  })
  const { port: taken } = server.address() as AddressInfo
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${taken}`
}

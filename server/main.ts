/**
 * The process: reads its configuration, builds the control plane, serves pages, API, metrics and health over HTTP, and
 * stops in order, with last flushes, on a signal or a fatal error.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { type Logger, pino } from 'pino'
import { publishHandle } from './api/handle.ts'
import { type ApiHandler, createApiHandler } from './api/http-handler.ts'
import { refuseHost } from './api/origin-guard.ts'
import { CoreError, isCoreError } from './lib/errors.ts'
import { toHostPort } from './lib/host-port.ts'
import { newRandomId } from './lib/random.ts'
import { createPages, type Pages } from './pages.ts'
import { type Config, readProcessConfig, usage } from './runtime/config.ts'
import { createControlPlane, type Overrides, type RunningControlPlane } from './runtime/create-control-plane.ts'

/** A script follows up to 200 rows by GET, and their keys are in the URL: Node's 16 KB are too few. */
const MAX_HEADER_BYTES = 64 * 1024
const EXIT_FATAL = 1
const EXIT_REFUSED = 2
/** After the signal to stop; a supervisor outside usually waits 10 s. */
const STOP_WITHIN_MS = 9_000

if (import.meta.main) await runTidewatch(process.argv.slice(2))

/** Runs until a signal or a fatal error, and ends the process with 0, 1 (fatal) or 2 (refused to start, with one line that says why). */
export async function runTidewatch(args: readonly string[], overrides: Overrides = {}): Promise<never> {
  // Next and others print there; stdout is for the one line that scripts read, if they still do.
  console.log = console.error
  process.stdout.on('error', () => undefined)
  if (args.includes('--help')) {
    process.stdout.write(usage())
    process.exit(0)
  }
  try {
    process.exit(await serve(readProcessConfig(args), overrides))
  } catch (error) {
    console.error('tidewatch:', isCoreError(error) ? error.message : error)
    process.exit(isCoreError(error) ? EXIT_REFUSED : EXIT_FATAL)
  }
}

/** Resolves with the exit code when it was asked to stop and has; rejects when it could not start, having closed what it opened. */
async function serve(asked: Config, overrides: Overrides): Promise<number> {
  const config = asked.demo ? { ...asked, dataDir: throwAwayFolder() } : asked
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }))
  const stopping = new AbortController()
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve(), { once: true }))
  let exitCode = 0
  const stop = (code: number) => {
    exitCode = Math.max(exitCode, code)
    stopping.abort()
  }
  // `on`, never `once`: Ctrl-C comes twice, and the second must not kill the last flush.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0))

  const pages = config.noUi ? undefined : await createPages(config)
  const controlPlane = await createControlPlane(config, log, overrides)
  const api = createApiHandler(controlPlane, { logger: log })
  publishHandle(api.handle)
  catchEverything(log, { controlPlane, stop })
  const server = createHttpServer({ config, log, controlPlane, api, pages })

  const running = controlPlane.run(stopping.signal)
  try {
    await Promise.race([start().then(() => stopped), stopped])
    log.info('stopping: last flushes')
  } finally {
    stopping.abort()
    await shutDown()
  }
  log.info('stopped')
  return exitCode

  async function start() {
    await controlPlane.listen()
    const url = await listen(server, { config, log })
    controlPlane.setUrl(url)
    const { xds, kds, pid } = controlPlane.self()
    process.stdout.write(`${JSON.stringify({ msg: 'listening', url, xds, kds, pid })}\n`)
    log.info({ url, xds }, 'Tidewatch listens')
  }

  async function shutDown() {
    const { clock } = controlPlane
    const deadline = clock.at(clock.monotonic() + STOP_WITHIN_MS, () => {
      log.fatal(`not stopped within ${STOP_WITHIN_MS} ms`)
      process.exit(EXIT_FATAL)
    })
    server.close()
    server.closeIdleConnections()
    await api.close()
    await running
    server.closeAllConnections()
    await controlPlane.close()
    deadline.cancel()
  }
}

/** Where the demo keeps its data: gone with the process, however it ends short of kill -9. */
function throwAwayFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-demo-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** After Next, which would only log what it catches and go on with half a process. */
function catchEverything(
  log: Logger,
  { controlPlane, stop }: { readonly controlPlane: RunningControlPlane; readonly stop: (code: number) => void },
) {
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
  readonly config: Config
  readonly log: Logger
  readonly controlPlane: RunningControlPlane
  readonly api: ApiHandler
  readonly pages: Pages | undefined
}

function createHttpServer({ config, log, controlPlane, api, pages }: Served): Server {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (req, res) => {
    answer(req, res).catch((error: unknown) => {
      log.error({ err: error, path: pathOf(req) }, 'a request failed unexpectedly; its caller was told only that')
      if (res.headersSent) res.destroy()
      else say(res, { status: 500, type: 'text/plain', body: 'something went wrong here; the log says what\n' })
    })
  })
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
    protectPage(req, { res, dev: config.dev })
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

async function listen(server: Server, { config: { host, port }, log }: { readonly config: Config; readonly log: Logger }): Promise<string> {
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

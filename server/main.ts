/** The process: from its configuration to a control plane that serves, and in order, with last flushes, to its end. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { publishHandle } from './api/handle.ts'
import { createApiHandler } from './api/http-handler.ts'
import { createHttpServer, listen } from './http-server.ts'
import { isCoreError } from './lib/errors.ts'
import { createPages } from './pages.ts'
import { type Config, readProcessConfig, usage } from './runtime/config.ts'
import { createControlPlane, type Overrides, type RunningControlPlane } from './runtime/create-control-plane.ts'

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
    stopping.signal.throwIfAborted()
    const url = await listen(server, config, log)
    stopping.signal.throwIfAborted()
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

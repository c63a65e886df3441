import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import type { Counters } from '../../server/model/views.ts'

const root = join(import.meta.dirname, '..', '..')

/** The product as a process of its own, on ports and a data folder of its own, to be treated badly. */
export interface Product {
  readonly child: ChildProcess
  readonly url: string
  readonly xds: string
  /** Null in a zone. */
  readonly kds: string | null
  readonly dataDir: string
  /** What it wrote on stderr so far. */
  log(): string
  counters(): Promise<Counters>
  call<T>(procedure: string, input?: unknown): Promise<T>
  /** A mutation. */
  post<T>(procedure: string, input: unknown): Promise<T>
  apply(settings: Readonly<Record<string, number>>): Promise<void>
  /** A simulated fleet against it; resolves when all are connected and stored as fresh. */
  startFleet(options: { readonly dataplanes: number; readonly seed: number }): Promise<Fleet>
  stop(): Promise<void>
}

type Listening = Pick<Product, 'url' | 'xds' | 'kds'>

export interface Fleet {
  /** All of its data planes leave. */
  stop(): Promise<void>
}

export interface ProductOptions {
  /** Modules loaded before it, in its threads as well. */
  readonly preload?: readonly string[]
  readonly flags?: readonly string[]
  readonly withPages?: boolean
}

export async function startProduct({ preload = [], flags = [], withPages = false }: ProductOptions = {}): Promise<Product> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidewatch-soak-'))
  const ports = ['--port', '0', '--xds-port', '0', '--kds-port', '0', '--data-dir', dataDir]
  const child = spawn(
    process.execPath,
    [...preload.flatMap((file) => ['--import', file]), 'server/main.ts', ...ports, ...(withPages ? [] : ['--no-ui']), ...flags],
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  )
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-200_000)))
  const { url, xds, kds } = await listeningLineOf(child, () => log)
  const fleets = new Set<Fleet>()
  const product: Product = {
    child,
    url,
    xds,
    kds,
    dataDir,
    log: () => log,
    counters: async () => (await product.call<{ counters: Counters }>('overview.counters')).counters,
    async call(procedure, input) {
      const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
      return unwrap(await fetch(`${url}/api/trpc/${procedure}${query}`))
    },
    async post(procedure, input) {
      const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(input) }
      return unwrap(await fetch(`${url}/api/trpc/${procedure}`, request))
    },
    async apply(settings) {
      for (const [key, value] of Object.entries(settings)) await product.post('settings.apply', { key, value, expectedVersion: '0' })
    },
    async startFleet({ dataplanes, seed }) {
      const before = (await product.counters()).sessions.xds
      const args = ['server/demo/fleet.ts', '--xds', xds, '--dataplanes', String(dataplanes), '--seed', String(seed), '--calm']
      const running = spawn(process.execPath, args, { cwd: root, stdio: 'ignore' })
      const fleet: Fleet = {
        async stop() {
          fleets.delete(fleet)
          await end(running, 'SIGTERM')
        },
      }
      fleets.add(fleet)
      await until(`${dataplanes} data planes are connected`, async () => (await product.counters()).sessions.xds >= before + dataplanes)
      return fleet
    },
    async stop() {
      await Promise.all([...fleets].map((fleet) => fleet.stop()))
      child.kill('SIGCONT')
      await end(child, 'SIGTERM')
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return product
}

/** Asks again and again until it is so, or the time is up. */
export async function isSoWithin(ms: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const endAt = performance.now() + ms
  for (;;) {
    if (await isSo()) return true
    if (performance.now() > endAt) return false
    await wait(50)
  }
}

/** Asks again and again until it is so; throws when it is not within `withinMs`. Gives how long it took. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<number> {
  const startedAt = performance.now()
  if (!(await isSoWithin(withinMs, isSo))) throw new Error(`not within ${withinMs / 1000} s: ${what}`)
  return performance.now() - startedAt
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill(signal)
  })
}

async function unwrap<T>(response: Response): Promise<T> {
  const body = (await response.json()) as { result?: { data: T }; error?: { message: string } }
  if (body.result === undefined) throw new Error(`${response.status}: ${body.error?.message}`)
  return body.result.data
}

function listeningLineOf(child: ChildProcess, log: () => string): Promise<Listening> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`it ended with ${code} before it listened: ${log()}`)))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) resolve(JSON.parse(line) as Listening)
    })
  })
}

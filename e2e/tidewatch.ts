import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test as base } from '@playwright/test'

export { expect } from '@playwright/test'

const root = join(import.meta.dirname, '..')

/** A Tidewatch of the tests' own: the built product, its own process, store and ports. */
export interface Tidewatch {
  readonly url: string
  readonly xds: string
  /** Null in a zone. */
  readonly kds: string | null
  readonly dataDir: string
  /** Any signal, SIGSTOP and SIGKILL included. */
  signal(name: NodeJS.Signals): void
  /** Ends it as asked and starts it again on the same ports and store. */
  restart(signal: NodeJS.Signals): Promise<void>
  /** A simulated fleet against it, until stopped or the Tidewatch ends. */
  startFleet(options: { readonly dataplanes: number; readonly seed: number; readonly meshes?: string }): Promise<Fleet>
  call<T>(procedure: string, input?: unknown): Promise<T>
  mutate<T>(procedure: string, input: unknown): Promise<T>
  stop(): Promise<void>
}
export interface Fleet {
  stop(): Promise<void>
}

interface Listening {
  readonly msg: 'listening'
  readonly url: string
  readonly xds: string
  readonly kds: string | null
  readonly pid: number
}

export interface StartOptions {
  readonly flags?: readonly string[]
  /** What to run; the product unless a test needs one with a bug. */
  readonly file?: string
  /** A config file's text. */
  readonly config?: string
}

export async function startTidewatch({ flags = [], file = 'server/main.ts', config }: StartOptions = {}): Promise<Tidewatch> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidewatch-e2e-'))
  const fleets = new Set<Fleet>()
  const configPath = join(dataDir, 'config.yaml')
  if (config !== undefined) writeFileSync(configPath, config)
  const configFlags = config === undefined ? [] : ['--config', configPath]
  let { child, listening } = await launch('0', '0', '0')
  const { url, xds, kds } = listening
  return { url, xds, kds, dataDir, signal: (name) => void child.kill(name), restart, startFleet, call, mutate, stop }

  async function launch(port: string, xdsPort: string, kdsPort: string) {
    const started = spawn(
      process.execPath,
      [file, ...configFlags, '--port', port, '--xds-port', xdsPort, '--kds-port', kdsPort, '--data-dir', dataDir, ...flags],
      {
        cwd: root,
        stdio: ['ignore', 'pipe', process.env['E2E_SERVER_LOG'] === undefined ? 'ignore' : 'inherit'],
      },
    )
    return { child: started, listening: await listeningLineOf(started) }
  }

  async function restart(signal: NodeJS.Signals) {
    await end(child, signal)
    ;({ child, listening } = await launch(portOf(url), portOf(`http://${xds}`), kds === null ? '0' : portOf(`http://${kds}`)))
  }

  async function startFleet({ dataplanes, seed, meshes = 'default' }: Parameters<Tidewatch['startFleet']>[0]) {
    const process_ = spawn(
      process.execPath,
      ['server/demo/fleet.ts', '--xds', xds, '--dataplanes', String(dataplanes), '--seed', String(seed), '--meshes', meshes],
      {
        cwd: root,
        stdio: 'ignore',
      },
    )
    const fleet: Fleet = {
      async stop() {
        fleets.delete(fleet)
        await end(process_, 'SIGTERM')
      },
    }
    fleets.add(fleet)
    return fleet
  }

  async function call<T>(procedure: string, input?: unknown): Promise<T> {
    const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
    return unwrap<T>(await fetch(`${url}/api/trpc/${procedure}${query}`))
  }

  async function mutate<T>(procedure: string, input: unknown): Promise<T> {
    return unwrap<T>(
      await fetch(`${url}/api/trpc/${procedure}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(input),
      }),
    )
  }

  async function stop() {
    await Promise.all([...fleets].map((fleet) => fleet.stop()))
    child.kill('SIGCONT')
    await end(child, 'SIGTERM')
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function unwrap<T>(response: Response): Promise<T> {
  const body = (await response.json()) as { result?: { data: T }; error?: { message: string } }
  if (body.result === undefined) throw new Error(`${response.status}: ${body.error?.message}`)
  return body.result.data
}

function portOf(url: string): string {
  return new URL(url).port
}

function listeningLineOf(child: ChildProcess): Promise<Listening> {
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`Tidewatch ended with ${code} before it listened`)))
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) resolve(JSON.parse(line) as Listening)
    })
  })
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.on('exit', () => resolve())
    child.kill(signal)
  })
}

/** Tests of one file share one Tidewatch with a small fleet of its own; a journey that breaks it starts another. */
export const test = base.extend<{ baseURL: string }, { tidewatch: Tidewatch }>({
  tidewatch: [
    async ({}, use) => {
      const tidewatch = await startTidewatch()
      await tidewatch.startFleet({ dataplanes: 40, seed: 1 })
      await use(tidewatch)
      await tidewatch.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ tidewatch }, use) => {
    await use(tidewatch.url)
  },
})

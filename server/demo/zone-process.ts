import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stringify } from 'yaml'

/** A zone control plane: Tidewatch itself, in a process of its own. */
export interface ZoneProcess {
  /** host:port of its xDS, once it listens; rejects when it ends before. */
  readonly xds: Promise<string>
  /** Resolves with its exit code. */
  readonly ended: Promise<number | null>
  stop(): void
}

export interface ZoneProcessOptions {
  readonly name: string
  /** host:port of the global. */
  readonly global: string
  readonly webhookUrl: string
  readonly dataDir: string
}

const MAIN = join(import.meta.dirname, '../main.ts')

export function startZoneProcess({ name, global, webhookUrl, dataDir }: ZoneProcessOptions): ZoneProcess {
  const folder = join(dataDir, `zone-${name}`)
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'zone.yaml')
  writeFileSync(config, stringify({ webhook: { url: webhookUrl, timeoutMs: 10_000 } }))
  const args = [
    '--mode',
    'zone',
    '--zone',
    name,
    '--global-address',
    global,
    '--port',
    '0',
    '--xds-port',
    '0',
    '--data-dir',
    folder,
    '--config',
    config,
    '--no-ui',
    '--log-level',
    'warn',
  ]
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 2] })
  const xds = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<number | null>()
  createInterface({ input: child.stdout! }).on('line', (line) => {
    if (line.startsWith('{')) xds.resolve((JSON.parse(line) as { readonly xds: string }).xds)
  })
  const end = (code: number | null) => {
    xds.reject(new Error(`zone ${name} ended with ${code} before it listened`))
    ended.resolve(code)
  }
  child.on('close', end)
  child.on('error', () => end(null))
  // Whoever waits for it hears of it; nobody need wait.
  xds.promise.catch(() => undefined)
  return { xds: xds.promise, ended: ended.promise, stop: () => void child.kill('SIGTERM') }
}

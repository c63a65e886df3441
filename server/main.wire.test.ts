import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DataplaneInsight } from './model/insight.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const THROWING = join(import.meta.dirname, '../e2e/mains/throwing-main.ts')
const FLEET = join(import.meta.dirname, 'demo/fleet.ts')
const ANY_PORTS = ['--no-ui', '--port', '0', '--xds-port', '0', '--kds-port', '0']

interface Started {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exit: Promise<number | null>
  listening(): Promise<{ readonly url: string; readonly xds: string; readonly pid: number; readonly kds: string | null }>
}

let folder: string
const children: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidewatch-main-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

function start(file: string, args: readonly string[]): Started {
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    exit: new Promise((resolve) => child.once('close', resolve)),
    async listening() {
      await vi.waitFor(() => expect(stdout).toContain('"listening"'), { timeout: 15_000 })
      return JSON.parse(stdout.trim()) as Awaited<ReturnType<Started['listening']>>
    },
  }
}
const startTidewatch = (args: readonly string[] = []) => start(MAIN, [...ANY_PORTS, '--data-dir', folder, ...args])

/** A Tidewatch with data planes whose status is stored. */
async function startWithFleet(started: Started, dataplanes = 5) {
  const where = await started.listening()
  const fleet = start(FLEET, ['--xds', where.xds, '--dataplanes', String(dataplanes)])
  await vi.waitFor(
    async () => {
      const answer = (await (await fetch(`${where.url}/api/trpc/insights.summary`)).json()) as {
        result: { data: { DataplaneInsight: { fresh: number } } }
      }
      expect(answer.result.data.DataplaneInsight.fresh).toBe(dataplanes)
    },
    { timeout: 15_000, interval: 100 },
  )
  return { where, fleet }
}

function storedInsights(): readonly DataplaneInsight[] {
  const database = new DatabaseSync(join(folder, 'tidewatch.db'), { readOnly: true })
  const rows = database.prepare("SELECT spec FROM resources WHERE type = 'DataplaneInsight'").all()
  database.close()
  return rows.map(({ spec }) => JSON.parse(String(spec)) as DataplaneInsight)
}
const isClosed = ({ subscriptions }: DataplaneInsight) => subscriptions.every(({ disconnectedAt }) => disconnectedAt !== undefined)

describe('the process', () => {
  it('says where it listens in exactly one line of JSON on stdout', async () => {
    const tidewatch = startTidewatch()
    const line = await tidewatch.listening()
    expect(Object.keys(line)).toEqual(['msg', 'url', 'xds', 'kds', 'pid'])
    expect(line.pid).toBe(tidewatch.child.pid)
    expect(await (await fetch(`${line.url}/healthz`)).json()).toEqual({ ok: true })
    expect(await (await fetch(`${line.url}/readyz`)).json()).toEqual({ ready: true })
    expect(await (await fetch(`${line.url}/metrics`)).text()).toContain('tidewatch_unhandled_rejections_total 0')
    tidewatch.child.kill('SIGTERM')
    expect(await tidewatch.exit).toBe(0)
    expect(tidewatch.stdout().trim().split('\n')).toHaveLength(1)
  })

  it('stores the last status of every data plane when it is asked to end, and exits with 0', async () => {
    const tidewatch = startTidewatch()
    const { fleet } = await startWithFleet(tidewatch)
    tidewatch.child.kill('SIGTERM')
    expect(await tidewatch.exit).toBe(0)
    const insights = storedInsights()
    expect(insights).toHaveLength(5)
    expect(insights.every(isClosed)).toBe(true)
    fleet.child.kill('SIGTERM')
    expect(await fleet.exit).toBe(0)
  })

  it('lets a second Ctrl-C not kill the last flush', async () => {
    const tidewatch = startTidewatch()
    await startWithFleet(tidewatch)
    tidewatch.child.kill('SIGINT')
    tidewatch.child.kill('SIGINT')
    expect(await tidewatch.exit).toBe(0)
    expect(storedInsights().every(isClosed)).toBe(true)
  })

  it('ends with 1, after the last flush, when a timer throws', async () => {
    const tidewatch = start(THROWING, ['3000', ...ANY_PORTS, '--data-dir', folder])
    await startWithFleet(tidewatch)
    expect(await tidewatch.exit).toBe(1)
    expect(tidewatch.stderr()).toContain('thrown in a timer on purpose')
    expect(storedInsights().every(isClosed)).toBe(true)
  })

  it('starts clean after kill -9 and has what was stored; what was open then is taken up by the data planes that come back', async () => {
    const first = startTidewatch(['--xds-port', '0'])
    const { where } = await startWithFleet(first)
    first.child.kill('SIGKILL')
    await first.exit
    expect(storedInsights()).toHaveLength(5)
    const second = startTidewatch(['--xds-port', where.xds.split(':')[1] ?? '0'])
    const again = await second.listening()
    await vi.waitFor(
      async () => {
        const answer = (await (await fetch(`${again.url}/api/trpc/sessions.list`)).json()) as { result: { data: { items: unknown[] } } }
        expect(answer.result.data.items).toHaveLength(5)
      },
      { timeout: 20_000, interval: 200 },
    )
  })

  it('refuses an unknown flag with one line and exit code 2', async () => {
    const tidewatch = startTidewatch(['--prot', '1'])
    expect(await tidewatch.exit).toBe(2)
    expect(tidewatch.stderr().trim()).toMatch(/^tidewatch: .*--prot.*--port.*$/)
    expect(tidewatch.stdout()).toBe('')
  })

  it('refuses a data folder that another process uses with one line and exit code 2', async () => {
    await startTidewatch().listening()
    const second = startTidewatch()
    expect(await second.exit).toBe(2)
    expect(second.stderr().trim()).toMatch(/^tidewatch: .*in use by another process.*--data-dir.*$/)
  })

  it('refuses a port that is taken with one line and exit code 2', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    for (const flag of ['--port', '--xds-port']) {
      const tidewatch = startTidewatch([flag, String(port)])
      expect(await tidewatch.exit).toBe(2)
      expect(tidewatch.stderr()).toMatch(new RegExp(`tidewatch: .*${port}.*EADDRINUSE`))
    }
    taken.close()
  })

  it('answers nobody whose Host is not this machine, and no page of another site', async () => {
    const { url } = await startTidewatch().listening()
    const { get } = await import('node:http')
    const statusOf = (path: string, headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) =>
        get(`${url}${path}`, { headers }, (answer) => resolve(answer.resume().statusCode)).on('error', reject),
      )
    for (const path of ['/api/trpc/insights.summary', '/metrics', '/healthz', '/'])
      expect(await statusOf(path, { host: 'evil.example' })).toBe(403)
    expect(await statusOf('/api/trpc/insights.summary', { origin: 'http://evil.example' })).toBe(403)
  })
})

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DataplaneInsight } from './model/insight.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const THROWING = join(import.meta.dirname, '../e2e/mains/throwing-main.ts')
const FLEET = join(import.meta.dirname, 'demo/fleet.ts')
const ANY_PORTS = ['--port', '0', '--xds-port', '0', '--kds-port', '0']
/** npm test builds them; a test run by itself may not have them. */
const HAS_PAGES = existsSync(join(import.meta.dirname, '../.next/BUILD_ID'))
const HAS_PROC = existsSync('/proc/self/task')

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
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: folder } })
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
const startTidewatch = (args: readonly string[] = []) => start(MAIN, ['--no-ui', ...ANY_PORTS, '--data-dir', folder, ...args])

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
/** Its children and theirs. Linux tells. */
function descendantsOf(pid: number | undefined): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .map(Number)
    .filter((child) => child > 0)
  return [...children, ...children.flatMap(descendantsOf)]
}
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
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
    // All of it is in the one file that operators copy.
    expect(readdirSync(folder).toSorted()).toEqual(['tidewatch.db', 'tidewatch.lock'])
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

  it('ends as well when its terminal is closed, with nobody left to read what it says', async () => {
    const tidewatch = startTidewatch()
    await startWithFleet(tidewatch)
    tidewatch.child.stdout?.destroy()
    tidewatch.child.stderr?.destroy()
    tidewatch.child.kill('SIGHUP')
    expect(await tidewatch.exit).toBe(0)
    expect(storedInsights().every(isClosed)).toBe(true)
  })

  it('can be ended while it starts', async () => {
    const tidewatch = startTidewatch()
    await vi.waitFor(() => expect(existsSync(join(folder, 'tidewatch.db'))).toBe(true), { timeout: 15_000, interval: 5 })
    tidewatch.child.kill('SIGTERM')
    expect(await tidewatch.exit).toBe(0)
    expect(tidewatch.stderr()).not.toContain('"level":50')
    expect(tidewatch.stderr()).not.toMatch(/stopping[^]*Tidewatch listens/)
  })

  it('finishes what was asked before it was asked to end, and takes no new connection', async () => {
    const tidewatch = startTidewatch()
    const { where } = await startWithFleet(tidewatch, 50)
    const [first, second] = [fetch(`${where.url}/metrics`), fetch(`${where.url}/readyz`)]
    await second
    tidewatch.child.kill('SIGTERM')
    expect((await first).status).toBe(200)
    expect(await tidewatch.exit).toBe(0)
    await expect(fetch(`${where.url}/healthz`)).rejects.toThrow('fetch failed')
  })

  it('ends with 1, after the last flush, when a timer throws', async () => {
    const tidewatch = start(THROWING, ['3000', '--no-ui', ...ANY_PORTS, '--data-dir', folder])
    await startWithFleet(tidewatch)
    expect(await tidewatch.exit).toBe(1)
    expect(tidewatch.stderr()).toContain('thrown in a timer on purpose')
    expect(storedInsights().every(isClosed)).toBe(true)
  })

  it.skipIf(!HAS_PAGES)('does so too with pages, whose framework would only log what it catches', async () => {
    const tidewatch = start(THROWING, ['3000', ...ANY_PORTS, '--data-dir', folder])
    const { where } = await startWithFleet(tidewatch)
    expect((await fetch(`${where.url}/insights`)).status).toBe(200)
    expect(await tidewatch.exit).toBe(1)
    expect(storedInsights().every(isClosed)).toBe(true)
    expect(tidewatch.stdout().trim().split('\n')).toHaveLength(1)
  })

  it.skipIf(!HAS_PAGES)('serves pages whose scripts run by a nonce of each answer alone', async () => {
    const tidewatch = start(MAIN, [...ANY_PORTS, '--data-dir', folder])
    const { url } = await tidewatch.listening()
    const nonces = await Promise.all(
      [1, 2].map(async () => {
        const answer = await fetch(`${url}/insights`)
        const [, nonce = ''] =
          /script-src 'self' 'nonce-([^']+)' 'strict-dynamic';/.exec(answer.headers.get('content-security-policy') ?? '') ?? []
        const scripts = (await answer.text()).match(/<script[^>]*>/g) ?? []
        expect(scripts.length).toBeGreaterThan(0)
        expect(scripts.filter((script) => !script.includes(`nonce="${nonce}"`))).toEqual([])
        expect(answer.headers.get('x-powered-by')).toBeNull()
        return nonce
      }),
    )
    expect(nonces[0]).not.toBe(nonces[1])
    tidewatch.child.kill('SIGTERM')
    expect(await tidewatch.exit).toBe(0)
  })

  it.runIf(HAS_PROC)('runs the demo with a fleet and zones of its own, and leaves neither processes nor data', async () => {
    const tidewatch = startTidewatch(['--demo'])
    const { url } = await tidewatch.listening()
    const online = async () => {
      const answer = (await (
        await fetch(`${url}/api/trpc/insights.list?input=${encodeURIComponent('{"type":"DataplaneInsight","limit":1}')}`)
      ).json()) as {
        result: { data: { total: number } }
      }
      return answer.result.data.total
    }
    await vi.waitFor(async () => expect(await online()).toBeGreaterThanOrEqual(200), { timeout: 20_000, interval: 200 })
    expect(readdirSync(folder).filter((name) => name.startsWith('tidewatch-demo-'))).toHaveLength(1)
    const simulated = descendantsOf(tidewatch.child.pid)
    // The fleet; what plays the zones, and two zones.
    expect(simulated.length).toBeGreaterThanOrEqual(4)
    tidewatch.child.kill('SIGTERM')
    expect(await tidewatch.exit).toBe(0)
    expect(readdirSync(folder)).toEqual([])
    expect(simulated.filter(isAlive)).toEqual([])
  })

  it.runIf(HAS_PROC)('takes what the demo simulates along when it is killed', async () => {
    const tidewatch = startTidewatch(['--demo'])
    await tidewatch.listening()
    const simulated = await vi.waitFor(
      () => {
        const found = descendantsOf(tidewatch.child.pid)
        expect(found.length).toBeGreaterThanOrEqual(4)
        return found
      },
      { timeout: 10_000 },
    )
    tidewatch.child.kill('SIGKILL')
    await vi.waitFor(() => expect(simulated.filter(isAlive)).toEqual([]), { timeout: 10_000, interval: 100 })
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
      expect(tidewatch.stderr().trim()).toMatch(new RegExp(`^tidewatch: .*127.0.0.1:${port}.*EADDRINUSE.*; choose another ${flag}$`))
      expect(tidewatch.stdout()).toBe('')
    }
    taken.close()
  })

  const unusable: Readonly<Record<string, readonly [make: (path: string) => void, says: RegExp]>> = {
    'that is no database': [(path) => writeFileSync(path, 'not a database at all'.repeat(500)), /is not, or no longer, a Tidewatch store/],
    'of a newer version': [
      (path) => {
        const database = new DatabaseSync(path)
        database.exec('CREATE TABLE future (x); PRAGMA user_version = 99')
        database.close()
      },
      /newer Tidewatch/,
    ],
  }
  it.each(Object.entries(unusable))(
    'refuses a store %s with one line and exit code 2, and leaves it as it is',
    async (_what, [make, says]) => {
      const path = join(folder, 'tidewatch.db')
      make(path)
      const before = readFileSync(path)
      const tidewatch = startTidewatch()
      expect(await tidewatch.exit).toBe(2)
      expect(tidewatch.stderr().trim()).toMatch(/^tidewatch: .*tidewatch\.db.*$/)
      expect(tidewatch.stderr()).toMatch(says)
      expect(readFileSync(path).equals(before)).toBe(true)
    },
  )

  it('refuses what the config file sets at odds with what operators set, with one line and exit code 2', async () => {
    const first = startTidewatch()
    const { url } = await first.listening()
    const answer = await fetch(`${url}/api/trpc/settings.apply`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: 'sink.dataplane.flushBackoffMs', value: 5000, expectedVersion: '0' }),
    })
    expect(answer.status).toBe(200)
    first.child.kill('SIGTERM')
    await first.exit
    const config = join(folder, 'config.yaml')
    writeFileSync(config, 'settings: { sink.dataplane.flushIntervalMs: 1000 }')
    const second = startTidewatch(['--config', config])
    expect(await second.exit).toBe(2)
    expect(second.stderr().trim()).toMatch(
      /^tidewatch: .*flushBackoffMs \(5000\) must not be above sink\.dataplane\.flushIntervalMs \(1000\).*$/,
    )
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

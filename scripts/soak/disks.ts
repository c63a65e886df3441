import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Counters } from '../../server/model/views.ts'
import { type Product, startProduct, until } from './product.ts'
import type { Report } from './report.ts'

const ROOT = join(import.meta.dirname, '../..')
const SLOW_DISK = join(import.meta.dirname, 'slow-disk.js')
/** Part of util-linux: changes the limits of a running process. */
const PRLIMIT = 'prlimit'
/** What SQLite waits for another process, and a probe. */
const LOCK_TOLD_WITHIN_MS = 9_000
const TOLD_WITHIN_MS = 6_000
/** It is looked once a second whether the cause has gone. */
const CLEARED_WITHIN_MS = 5_000
const DATAPLANES = 20
const SETTINGS = { 'sink.dataplane.flushIntervalMs': 300, 'insight.idleTimeoutMs': 4_000 }

/** Files of a running process may not grow: to it that is a disk without room. Linux only. */
const canFillDisk = process.platform === 'linux' && spawnSync(PRLIMIT, ['--version']).status === 0

/** A running process is given a full, a locked and a slow disk, one after the other, and each is taken away again. */
export async function soakDisks(seed: number, report: Report): Promise<void> {
  readOnly(report)
  const product = await startProduct({ preload: [SLOW_DISK] })
  try {
    await product.apply(SETTINGS)
    await product.startFleet({ dataplanes: DATAPLANES, seed })
    await until('all are fresh', async () => isFresh(await product.counters()))
    if (canFillDisk) await full(product, report)
    else report.say('left out: a full disk (prlimit is not here)')
    await locked(product, report)
    await slow(product, seed, report)
    report.hold(product.child.exitCode === null, 'the process lives', product.child.exitCode ?? 'yes')
  } finally {
    await product.stop()
  }
}

/** Root may write anywhere, so it starts it as somebody who may not. */
function readOnly(report: Report): void {
  report.say('the data folder is read-only')
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-read-only-'))
  chmodSync(folder, 0o555)
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const args = ['server/main.ts', '--no-ui', '--port', '0', '--xds-port', '0', '--kds-port', '0', '--data-dir', folder]
  const { status, stderr, error } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 20_000,
    ...nobody,
  })
  rmSync(folder, { recursive: true, force: true })
  if (error !== undefined || /EACCES/.test(stderr))
    return report.say(`left out: somebody else may not run it (${error?.message ?? 'EACCES'})`)
  report.hold(status === 2, 'it refuses to start with exit code 2', String(status))
  const line = stderr.trim()
  report.hold(line.includes(folder) && line.includes('--data-dir') && !line.includes('\n'), 'one clear line', line)
}

async function full(product: Product, report: Report): Promise<void> {
  report.say('the disk is full')
  const limit = (bytes: string) => execFileSync(PRLIMIT, ['--pid', String(product.child.pid), `--fsize=${bytes}`])
  limit('4096:unlimited')
  await told(product, ({ storeProblem }) => storeProblem !== null, { within: TOLD_WITHIN_MS, report })
  await expectClearLine(product, /tidewatch\.db/, report)
  limit('unlimited:unlimited')
  await cleared(product, report)
}

async function locked(product: Product, report: Report): Promise<void> {
  report.say('another process has the file')
  const other = new DatabaseSync(join(product.dataDir, 'tidewatch.db'))
  try {
    other.exec('BEGIN IMMEDIATE')
    await told(product, ({ storeProblem }) => storeProblem !== null, { within: LOCK_TOLD_WITHIN_MS, report })
    await expectClearLine(product, /in use by another process/, report)
  } finally {
    other.close()
  }
  await cleared(product, report)
}

async function slow(product: Product, seed: number, report: Report): Promise<void> {
  report.say('a commit takes 300 ms longer')
  const mark = join(product.dataDir, 'slow-disk')
  writeFileSync(mark, '')
  const fleet = await product.startFleet({ dataplanes: DATAPLANES, seed: seed + 2 })
  await told(product, ({ storeSlow }) => storeSlow !== null, { within: LOCK_TOLD_WITHIN_MS, report })
  const { storeSlow, storeProblem, eventLoopLagMs } = await product.counters()
  report.hold((storeSlow?.commitMs ?? 0) >= 300, 'it says how slow', `${storeSlow?.commitMs} ms`)
  report.hold(storeProblem === null, 'the store still answers', storeProblem?.message ?? 'yes')
  report.hold(eventLoopLagMs.p99 < 300, 'the event loop does not wait for the disk (p99)', `${Math.round(eventLoopLagMs.p99)} ms`)
  rmSync(mark)
  await fleet.stop()
  await cleared(product, report)
}

async function told(
  product: Product,
  isTold: (counters: Counters) => boolean,
  { within, report }: { readonly within: number; readonly report: Report },
): Promise<void> {
  const tookMs = await until('Overview tells of it', async () => isTold(await product.counters()), within + 5_000)
  report.hold(tookMs < within, `Overview tells of it within ${within / 1000} s`, `${Math.round(tookMs)} ms`)
}

async function expectClearLine(product: Product, line: RegExp, report: Report): Promise<void> {
  const { storeProblem } = await product.counters()
  const message = storeProblem?.message ?? ''
  report.hold(line.test(message) && !message.includes('\n'), 'one clear line', message)
  const ready = await fetch(`${product.url}/readyz`)
  report.hold(ready.status === 503, 'it is not ready', ready.status)
  await ready.body?.cancel()
  const page = await fetch(`${product.url}/healthz`)
  report.hold(page.status === 200, 'the process lives', page.status)
  await page.body?.cancel()
}

async function cleared(product: Product, report: Report): Promise<void> {
  const tookMs = await until('Overview is clear again', async () => isClear(await product.counters()), 30_000)
  report.hold(tookMs < CLEARED_WITHIN_MS * 2, 'it clears by itself', `${Math.round(tookMs)} ms`)
  await until('everything waiting is stored', async () => isFresh(await product.counters()), 30_000)
  report.hold(true, 'it catches up', 'all are fresh')
}

function isClear({ storeProblem, storeSlow, sinks }: Counters): boolean {
  return storeProblem === null && storeSlow === null && sinks.every(({ lastError }) => lastError === null)
}

function isFresh({ summary }: Counters): boolean {
  const { fresh = 0, late = 0, stale = 0, unknown = 0 } = summary['DataplaneInsight'] ?? {}
  return fresh >= DATAPLANES && late + stale + unknown === 0
}

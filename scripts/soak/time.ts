import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Counters } from '../../server/model/views.ts'
import { type Product, startProduct, until } from './product.ts'
import type { Report } from './report.ts'

const SHIFT_CLOCK = join(import.meta.dirname, 'shift-clock.js')
const HOUR_MS = 3_600_000
const STEP_TOLERANCE_MS = 1_000
const DATAPLANES = 60
/** Short, so that some flushes are due while one looks. */
const INTERVAL_MS = 1_000
/** Looked at for so long after each event. */
const WATCH_MS = 4_000
/** Settings of a run as of a minute, where a default would need half an hour to show anything. */
const SETTINGS = { 'sink.dataplane.flushIntervalMs': INTERVAL_MS, 'insight.idleTimeoutMs': 10_000 }

/** The wall clock of a running process steps by an hour on, then back by two, then to where it was. */
export async function soakClock(seed: number, report: Report): Promise<void> {
  const product = await startProduct({ preload: [SHIFT_CLOCK] })
  try {
    await settleFleet(product, seed)
    for (const [what, shiftMs, stepMs] of [
      ['an hour on', HOUR_MS, HOUR_MS],
      ['two hours back', -HOUR_MS, -2 * HOUR_MS],
      ['an hour on again', 0, HOUR_MS],
    ] as const) {
      report.say(`the clock steps ${what}`)
      const before = await product.counters()
      product.child.send({ shiftMs })
      const isTold = ({ interruption }: Counters) =>
        interruption?.kind === 'clock_set' && Math.abs(interruption.ms - stepMs) < STEP_TOLERANCE_MS
      const told = await until('Overview tells of it', async () => isTold(await product.counters()), 10_000)
      report.hold(told < 5_000, 'Overview tells of it within seconds', `${Math.round(told)} ms`)
      await expectQuiet(product, before, report)
    }
  } finally {
    await product.stop()
  }
}

/** The whole process is stopped, as by a laptop that sleeps, and goes on. */
export async function soakSleep({ stoppedMs, seed }: { readonly stoppedMs: number; readonly seed: number }, report: Report): Promise<void> {
  const product = await startProduct()
  const pages = openPages(product.url, 5)
  try {
    await settleFleet(product, seed)
    await until('the pages follow', () => pages.opened() === 5)
    report.say(`the process is stopped for ${stoppedMs / 1000} s`)
    const before = await product.counters()
    product.child.kill('SIGSTOP')
    await wait(stoppedMs)
    product.child.kill('SIGCONT')
    const told = await until('Overview tells of it', async () => (await product.counters()).interruption?.kind === 'stopped', 10_000)
    report.hold(told < 5_000, 'Overview tells of it within seconds', `${Math.round(told)} ms`)
    const back = await until('all are connected', async () => (await product.counters()).sessions.xds === DATAPLANES, 40_000)
    report.hold(back < 40_000, 'all data planes are connected', `after ${Math.round(back)} ms`)
    // What waited all the while was stale, and that is the truth; not for longer than it takes to write it.
    const caughtUp = await until('all are fresh', async () => freshOf(await product.counters()) === DATAPLANES, 20_000)
    report.hold(caughtUp < 5_000, 'it catches up within 5 s', `${Math.round(caughtUp)} ms`)
    await expectQuiet(product, before, report)
    report.hold(pages.closed() === 0, 'no page is hung up on', `${pages.closed()} of ${pages.opened()}`)
    const { readers } = await product.counters()
    report.hold(readers.dropped === 0, 'no client is dropped', readers.dropped)
  } finally {
    pages.close()
    await product.stop()
  }
}

async function settleFleet(product: Product, seed: number): Promise<void> {
  await product.apply(SETTINGS)
  await product.startFleet({ dataplanes: DATAPLANES, seed })
  await until('all are fresh', async () => freshOf(await product.counters()) === DATAPLANES)
}

/** Nobody is late or stale, and no more is written than one flush of everybody and what the intervals allow. */
async function expectQuiet(product: Product, before: Counters, report: Report): Promise<void> {
  let stale = 0
  for (const endAt = performance.now() + WATCH_MS; performance.now() < endAt; await wait(100)) {
    const { summary } = await product.counters()
    stale = Math.max(stale, summary['DataplaneInsight']?.stale ?? 0)
  }
  const after = await product.counters()
  const written = flushesOf(after) - flushesOf(before)
  // A stop can cost each its stream: then each has a last and a first flush besides.
  const most = DATAPLANES * (3 + (WATCH_MS + 4_000) / INTERVAL_MS)
  report.hold(stale === 0, 'nothing turns stale', stale)
  report.hold(freshOf(after) === DATAPLANES, 'all are fresh', freshOf(after))
  report.hold(written <= most, `no storm of flushes (at most ${most})`, written)
  report.hold(after.storeProblem === null, 'the store answers', after.storeProblem?.message ?? 'yes')
}

function freshOf({ summary }: Counters): number {
  return summary['DataplaneInsight']?.fresh ?? 0
}

function flushesOf({ sinks }: Counters): number {
  return sinks.filter(({ name }) => name === 'dataplane').reduce((sum, { flushes }) => sum + flushes.written + flushes.unchanged, 0)
}

/** Sockets as pages open them: they answer pings, and read. */
function openPages(url: string, count: number) {
  let opened = 0
  let closed = 0
  const sockets = Array.from({ length: count }, () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/trpc`)
    socket.addEventListener('open', () => {
      opened++
      socket.send(JSON.stringify({ id: 1, method: 'subscription', params: { path: 'live', input: { counters: true } } }))
    })
    socket.addEventListener('close', () => closed++)
    return socket
  })
  return {
    opened: () => opened,
    closed: () => closed,
    close() {
      for (const socket of sockets) socket.close()
    },
  }
}

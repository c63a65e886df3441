// The process that is measured: everything of the product but the gRPC listener's peers, with any number of data planes whose
// status moves at a steady rate. Prints one JSON line when it serves, and takes orders over IPC.
//   node bench/web/live-host.ts ROWS CHANGES_PER_SECOND
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { pino } from 'pino'
import { publishHandle } from '../../server/api/handle.ts'
import { createApiHandler } from '../../server/api/http-handler.ts'
import type { StatusSession } from '../../server/discovery/status-port.ts'
import { createHttpServer, listen } from '../../server/http-server.ts'
import { createSystemClock } from '../../server/lib/clock.ts'
import { isCoreError } from '../../server/lib/errors.ts'
import type { Subscription } from '../../server/model/insight.ts'
import type { ResourceKey } from '../../server/model/resource.ts'
import { createPages } from '../../server/pages.ts'
import { readConfig } from '../../server/runtime/config.ts'
import type { ControlPlane } from '../../server/runtime/control-plane.ts'
import { createControlPlane } from '../../server/runtime/create-control-plane.ts'
import { createDataplaneSink } from '../../server/sinks/dataplane-sink.ts'
import { createEventLoopLag } from '../../server/telemetry/event-loop-lag.ts'

/** What the host is asked, by `kind`; each is answered with `{ kind, ... }`. */
export type HostOrder =
  | { readonly kind: 'load'; readonly perSecond: number }
  /** Writes these insights one after the other, past the sink, each as another writer, and says when each was stored. */
  | { readonly kind: 'touch'; readonly names: readonly string[]; readonly everyMs: number }
  /** What a page that polls is sent: the whole list, compressed. */
  | { readonly kind: 'poll' }
  | { readonly kind: 'usage' }
  | { readonly kind: 'check' }

const TICK_MS = 10
const SPREAD = 50
const SPREAD_OVER_MS = 6_000
const MESH = 'default'
const SERVICES = ['backend', 'cart', 'checkout', 'frontend', 'orders', 'payments', 'search', 'stock']
const [rowCount = 10_000, perSecondAtFirst = 0] = process.argv.slice(2).map(Number)

const dataDir = mkdtempSync(join(tmpdir(), 'tidewatch-bench-'))
process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
console.log = console.error
const gzipped = promisify(gzip)
const log = pino({ level: 'error' }, pino.destination({ dest: 2, sync: true }))
const clock = createSystemClock()
const config = readConfig(['--port', '0', '--xds-port', '0', '--data-dir', dataDir], {})
const pages = await createPages(config)
const core = await createControlPlane(config, log, { clock })
const { store, board, settings, conflicts } = core
const sink = createDataplaneSink({
  clock,
  store,
  settings,
  ledger: conflicts,
  board,
  instance: core.self().id,
  random: Math.random,
  log,
  observer: { flushed() {}, lag() {}, attempts() {} },
})
const controlPlane: ControlPlane = {
  ...core,
  sinks: () => [sink.row()],
  nextFlushAt: sink.nextFlushAt,
  counters: () => ({ ...core.counters(), sinks: [sink.row()], sessions: { ...core.counters().sessions, xds: sessions.length } }),
}
let lags: number[] = []
const lag = createEventLoopLag(clock, (seconds) => lags.push(seconds * 1000))
const api = createApiHandler(controlPlane, { logger: log })
publishHandle(api.handle)
const server = createHttpServer({ config, log, controlPlane, api, pages })
/** Those of the pages that are live now, for what went over the wire to them. */
const sockets = new Set<Duplex & { readonly bytesWritten: number }>()
server.on('upgrade', (_req, socket: Duplex & { readonly bytesWritten: number }) => {
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
})
const stopping = new AbortController()
void Promise.all([core.run(stopping.signal), sink.run(stopping.signal), lag.run(stopping.signal)])

const subjects = Array.from({ length: rowCount }, (_, index): ResourceKey => ({ type: 'Dataplane', mesh: MESH, name: podName(index) }))
const sessions: { readonly session: StatusSession; newest: Subscription }[] = []
await core.listen()
for (let from = 0; from < subjects.length; from += 500)
  await store.writeBatch(
    subjects
      .slice(from, from + 500)
      .map((key) => ({ kind: 'create', draft: { key, spec: { networking: { address: '127.0.0.1', inbound: [], outbound: [] } } } })),
    { writer: 'bench' },
  )
for (const [index, subject] of subjects.entries()) {
  const newest = subscriptionOf(index)
  sessions.push({ session: sink.open(subject, newest), newest })
  // As data planes come: spread over an interval, so that their flushes are, too.
  if (index % SPREAD === 0) await clock.sleep(SPREAD_OVER_MS / (rowCount / SPREAD))
}
while (sink.row().flushes.written < rowCount) await clock.sleep(50)
const url = await listen(server, config, log)
core.setUrl(url)

let perSecond = perSecondAtFirst
let next = 0
let owed = 0
let touches = 0
void change()
process.stdout.write(`${JSON.stringify({ msg: 'listening', url, pid: process.pid })}\n`)

process.on('message', (order: HostOrder) => void obey(order).then((answer) => process.send?.({ ...answer, kind: order.kind })))
process.on('disconnect', () => process.exit(0))
process.on('SIGTERM', () => process.exit(0))

async function obey(order: HostOrder): Promise<object> {
  switch (order.kind) {
    case 'load':
      perSecond = order.perSecond
      return {}
    case 'touch':
      return { stored: await touch(order.names, order.everyMs) }
    case 'poll': {
      const from = process.cpuUsage()
      const items = board.rows(board.order({ type: 'DataplaneInsight', sort: 'name' }).keys)
      const bytes = (await gzipped(JSON.stringify({ now: clock.now(), items, nextCursor: null, total: items.length }))).length
      const { user, system } = process.cpuUsage(from)
      return { bytes, cpuMs: (user + system) / 1000 }
    }
    case 'usage': {
      const { user, system } = process.cpuUsage()
      const sentBytes = [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0)
      const answer = { cpuMs: (user + system) / 1000, lags, changes: next, sentBytes, sockets: sockets.size }
      lags = []
      return answer
    }
    case 'check':
      return { problems: await problems() }
  }
}

/** `perSecond` of them change, one after the other in an order that is neither that of names nor that of lateness. */
async function change(): Promise<void> {
  let last = clock.monotonic()
  for (;;) {
    await clock.sleep(TICK_MS)
    const now = clock.monotonic()
    owed = Math.min(perSecond, owed + ((now - last) * perSecond) / 1000)
    last = now
    for (; owed >= 1; owed--) {
      const one = sessions[(next++ * 7_919) % sessions.length]
      if (one === undefined) continue
      one.newest = acknowledged(one.newest)
      one.session.update(one.newest)
    }
  }
}

/** As pods are called: `backend-5f9c7d8b64-x7k2p`. */
function podName(index: number): string {
  const random = createHash('sha256').update(String(index)).digest('hex')
  return `${SERVICES[index % SERVICES.length]}-${random.slice(0, 10)}-${random.slice(10, 15)}`
}

/** As a data plane's that gets listeners, clusters, endpoints and routes: about 1 KB stored. */
function subscriptionOf(index: number): Subscription {
  const now = clock.now()
  const type = { sent: 1, acked: 1, nacked: 0, lastAt: now }
  return {
    id: `bench-${index}`,
    instance: core.self().id,
    variant: 'sotw',
    connectedAt: now,
    generation: 0,
    types: { CDS: type, EDS: type, LDS: type, RDS: type },
    agent: 'envoy 1.40.0',
  }
}

function acknowledged(newest: Subscription): Subscription {
  const { EDS } = newest.types
  if (EDS === undefined) return newest
  return { ...newest, types: { ...newest.types, EDS: { ...EDS, sent: EDS.sent + 1, acked: EDS.acked + 1, lastAt: clock.now() } } }
}

/** What another instance's sink would do: a write to the store that only the change feed tells of. */
async function touch(names: readonly string[], everyMs: number): Promise<readonly { readonly writer: string; readonly at: number }[]> {
  const stored = []
  for (const name of names) {
    const resource = await store.get({ type: 'DataplaneInsight', mesh: MESH, name })
    const writer = `touch-${touches++}`
    try {
      await store.update({ ...resource, spec: { ...(resource.spec as object), touched: writer } }, { writer })
      stored.push({ writer, at: performance.timeOrigin + performance.now() })
    } catch (error) {
      // The sink was quicker: this one is not measured.
      if (!isCoreError(error, 'conflict')) throw error
    }
    await clock.sleep(everyMs * (0.5 + Math.random()))
  }
  return stored
}

/** Whether what the pages are shown is what is stored. */
async function problems(): Promise<readonly string[]> {
  const found: string[] = []
  const { length } = board.order({ type: 'DataplaneInsight' }).keys
  if (length !== rowCount) found.push(`the board has ${length} rows, not ${rowCount}`)
  const page = await store.list({ type: 'DataplaneInsight', limit: 500 })
  const rows = new Map(board.rows(page.items.map(({ key }) => key)).map((row) => [row.key.name, row]))
  // One that is written meanwhile may differ for a moment; more than a few may not.
  const other = page.items.filter(({ key, version }) => rows.get(key.name)?.version !== version).length
  if (other > 20) found.push(`${other} of 500 rows have another version than the store`)
  return found
}

// The process that is measured: all of the product, with its ports. Takes orders over IPC.
//   node bench/xds/host-process.ts [--pages] [--waits-for-cache]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { publishHandle } from '../../server/api/handle.ts'
import { createApiHandler } from '../../server/api/http-handler.ts'
import { createHttpServer, listen } from '../../server/http-server.ts'
import { createSystemClock } from '../../server/lib/clock.ts'
import type { Dataplane } from '../../server/model/kinds/dataplane.ts'
import type { ResourceKey } from '../../server/model/resource.ts'
import { createPages } from '../../server/pages.ts'
import { readConfig } from '../../server/runtime/config.ts'
import { createControlPlane } from '../../server/runtime/create-control-plane.ts'
import { createEventLoopLag } from '../../server/telemetry/event-loop-lag.ts'
import { answering } from './child.ts'
import { COMMON, MESH } from './mesh-shape.ts'

export type HostOrder =
  | { readonly kind: 'start' }
  /** Answers when so many sessions are live, or none is and none waits for its removal. */
  | { readonly kind: 'sessions'; readonly count: number }
  /** Moves the service that all call; answers when each session was sent that and has acknowledged. */
  | { readonly kind: 'push' }
  /** What was used since this was last asked. */
  | { readonly kind: 'usage' }
  /** Memory, after a garbage collection. */
  | { readonly kind: 'memory' }
  /** Throws when what is stored or shown is not what it must be with so many sessions. */
  | { readonly kind: 'check'; readonly count: number }

export interface HostAnswers {
  readonly start: { readonly url: string; readonly xdsPort: number }
  readonly sessions: { readonly tookMs: number }
  readonly push: { readonly tookMs: number; readonly cpuMs: number }
  readonly usage: { readonly cpuMs: number; readonly elapsedMs: number; readonly lags: readonly number[] }
  readonly memory: { readonly rssBytes: number }
  readonly check: object
}

const args = new Set(process.argv.slice(2))
const dataDir = mkdtempSync(join(tmpdir(), 'tidewatch-bench-'))
process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
console.log = console.error
const log = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }))
const clock = createSystemClock()
const read = readConfig(['--port', '0', '--xds-port', '0', '--kds-port', '0', '--data-dir', dataDir], {})
const config = { ...read, settings: { ...read.settings, 'xds.deregistrationDelayMs': 0 } }
const pages = args.has('--pages') ? await createPages(config) : undefined
const core = await createControlPlane(config, log, { clock, storeSignalsWrites: !args.has('--waits-for-cache') })
const { store, sessions } = core
let lags: number[] = []
const lag = createEventLoopLag(clock, (seconds) => lags.push(seconds * 1000))
const api = createApiHandler(core, { logger: log })
publishHandle(api.handle)
const server = createHttpServer({ config, log, controlPlane: core, api, pages })
const stopping = new AbortController()
const running = Promise.all([core.run(stopping.signal), lag.run(stopping.signal)])
const common: ResourceKey = { type: 'Dataplane', mesh: MESH, name: `${COMMON}-0` }
let usedAt = { cpu: process.cpuUsage(), at: clock.monotonic() }
let moves = 0
const CHECK_WITHIN_MS = 10_000
void running

answering<HostOrder>(async (order) => {
  switch (order.kind) {
    case 'start': {
      await core.listen()
      const url = await listen(server, config, log)
      core.setUrl(url)
      await store.create({ key: common, spec: commonAt(moves) }, { writer: 'bench' })
      const { xds } = core.self()
      return { url, xdsPort: Number(xds.slice(xds.lastIndexOf(':') + 1)) }
    }
    case 'sessions': {
      const startedAt = clock.monotonic()
      const isGone = () => order.count > 0 || core.debugSnapshot()['lifecycle.present'] === 0
      while (sessions.size('xds') !== order.count || !isGone()) await clock.sleep(2)
      return { tookMs: clock.monotonic() - startedAt }
    }
    case 'push':
      return await push()
    case 'usage': {
      const cpu = process.cpuUsage(usedAt.cpu)
      const elapsedMs = clock.monotonic() - usedAt.at
      const answer = { cpuMs: (cpu.user + cpu.system) / 1000, elapsedMs, lags }
      lags = []
      usedAt = { cpu: process.cpuUsage(), at: clock.monotonic() }
      return answer
    }
    case 'memory':
      globalThis.gc?.()
      return { rssBytes: process.memoryUsage.rss() }
    case 'check': {
      const giveUpAt = clock.monotonic() + CHECK_WITHIN_MS
      let found = problems(order.count)
      // The last ACKs may be on their way.
      while (found.length > 0 && clock.monotonic() < giveUpAt) {
        await clock.sleep(50)
        found = problems(order.count)
      }
      if (found.length > 0) throw new Error(found.join('; '))
      return {}
    }
  }
})

async function push(): Promise<HostAnswers['push']> {
  const before = await store.get<Dataplane>(common)
  const cpu = process.cpuUsage()
  const startedAt = clock.monotonic()
  const watching = new AbortController()
  const done = Promise.withResolvers<void>()
  // Each session is told of twice: sent to, and acknowledged.
  let left = 2 * sessions.size('xds')
  sessions.onChange(() => {
    if (--left === 0) done.resolve()
  }, watching.signal)
  await store.update({ ...before, spec: commonAt(++moves) }, { writer: 'bench' })
  await done.promise
  watching.abort()
  const { user, system } = process.cpuUsage(cpu)
  return { tookMs: clock.monotonic() - startedAt, cpuMs: (user + system) / 1000 }
}

function commonAt(move: number): Dataplane {
  const inbound = (port: number) => ({ port, tags: { 'kuma.io/service': COMMON } })
  return { networking: { address: '10.255.0.1', inbound: [inbound(4_000 + move)], outbound: [] } }
}

function problems(count: number): readonly string[] {
  const rows = sessions.list('xds')
  const found: string[] = []
  if (rows.length !== count) found.push(`there are ${rows.length} sessions, not ${count}`)
  const unsynced = rows.filter(({ types }) => types.some(({ status }) => status !== 'synced'))
  const [first] = unsynced
  if (first !== undefined) found.push(`${unsynced.length} sessions are not in sync, for example ${JSON.stringify(first)}`)
  const shown = core.board.order({ type: 'DataplaneInsight' }).keys.length
  if (shown !== count) found.push(`the board shows ${shown} data planes, not ${count}`)
  return found
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../../server/lib/clock.ts'
import { createDelivery } from '../../server/kds/delivery.ts'
import { createKumaResourceCodec } from '../../server/kds/kuma-resource.ts'
import { loadKdsProtos } from '../../server/kds/protos.ts'
import { createSpecCodec } from '../../server/kds/spec-codec.ts'
import { createSyncDirectory } from '../../server/kds/sync-directory.ts'
import { createSyncSender } from '../../server/kds/sync-sender.ts'
import { byOperator, meshKey, startGlobal, startZone, timeout } from '../../server/kds/testing/two-ends.ts'
import { loadKinds } from '../../server/model/load-kinds.ts'
import type { ResourceStore, Write } from '../../server/store/resource-store.ts'
import { createMemoryStore } from '../../server/store/memory-store.ts'
import { openSqliteStore } from '../../server/store/sqlite-store.ts'
import { type Bench, bound, cpuMs, inTurn, type Pair, quantile } from '../harness.ts'
import { startBlockingGlobal } from './blocking-global.ts'

const clock = createSystemClock()
const kinds = await loadKinds()
const protos = loadKdsProtos()
const codec = createKumaResourceCodec(protos, createSpecCodec(protos))

/** Everything that waits is ten times as fast, in both arms, and the figures are multiplied back: the old one waits 5 s per type. */
const FASTER = 10
const OLD_BACKOFF_MS = 5_000
const TICK_MS = 1_000
/** Types that a zone is made to refuse; it takes MeshRetry. */
const REFUSABLE = [
  'MeshAccessLog',
  'MeshFaultInjection',
  'MeshHealthCheck',
  'MeshHTTPRoute',
  'MeshIdentity',
  'MeshMetric',
  'MeshRateLimit',
  'MeshTCPRoute',
  'MeshTLS',
  'MeshTrace',
]
const REPEATS = 5
const RESOURCES = 10_000
const ZONES = 100

export const kdsBench: Bench = {
  name: 'kds',
  async run() {
    return [...(await rejections()), await freshZone(), ...(await oneChange()), ...(await quietResync())]
  },
}

/** How much later an accepted type arrives because k others are refused at the same time. */
async function rejections(): Promise<readonly Pair[]> {
  const pairs: Pair[] = []
  for (const k of [1, 3, 10]) {
    const refused = REFUSABLE.slice(0, k)
    pairs.push({
      id: `kds.rejected.${k}`,
      title: `Time until a change of an accepted type is in the zone while ${k} ${k === 1 ? 'type is' : 'types are'} refused`,
      unit: 'ms',
      target: 5 * k,
      note: 'baseline: a callback that sleeps 5 s per refused type before it hears anything else, over the same wire to the same zone; all waits a tenth as long in both arms but for the 50 ms that we gather changes',
      runs: await inTurn(REPEATS, { ours: () => deliveredBeside(refused), baseline: () => deliveredBlocked(refused) }),
    })
  }
  return pairs
}

const retry = (times: number) => ({
  key: { type: 'MeshRetry', mesh: 'demo', name: 'r' },
  spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { http: { numRetries: times } } }] },
})

/** All is there when the zone connects; it refuses its share; then the accepted one changes. */
async function deliveredBeside(refused: readonly string[]): Promise<number> {
  const global = await startGlobal({ flushIntervalMs: TICK_MS / FASTER, nackBackoffMs: OLD_BACKOFF_MS / FASTER })
  await global.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
  for (const type of refused) await global.store.create({ key: { type, mesh: 'demo', name: 'x' }, spec: {} }, byOperator)
  const made = await global.store.create(retry(1), byOperator)
  const zone = await startZone(global.address, 'east', { admit: refusing(refused), nackBackoffMs: 60_000 })
  try {
    await until(async () => (await zone.store.list({ type: 'MeshRetry' })).items.length === 1)
    await until(() => global.sessions.list().some((row) => row.refused.length === refused.length))
    const start = clock.monotonic()
    await global.store.update({ ...made, spec: retry(2).spec }, byOperator)
    await hasArrived(zone.store)
    return (clock.monotonic() - start) * FASTER
  } finally {
    await zone.stop()
    await global.stop()
  }
}

async function deliveredBlocked(refused: readonly string[]): Promise<number> {
  const global = await startBlockingGlobal(protos, codec, { sleepMs: OLD_BACKOFF_MS / FASTER, tickMs: TICK_MS / FASTER })
  global.put({ key: meshKey('demo'), labels: {}, spec: {} })
  for (const type of refused) global.put({ key: { type, mesh: 'demo', name: 'x' }, labels: {}, spec: {} })
  global.put({ ...retry(1), labels: {} })
  const zone = await startZone(global.address, 'east', { admit: refusing(refused), nackBackoffMs: 60_000 })
  try {
    await until(async () => (await zone.store.list({ type: 'MeshRetry' })).items.length === 1)
    const start = clock.monotonic()
    global.put({ ...retry(2), labels: {} })
    await hasArrived(zone.store)
    return (clock.monotonic() - start) * FASTER
  } finally {
    await zone.stop()
    await global.stop()
  }
}

function hasArrived(store: ResourceStore): Promise<void> {
  return until(async () => JSON.stringify((await store.list({ type: 'MeshRetry' })).items[0]?.spec).includes('"numRetries":2'))
}

function refusing(types: readonly string[]) {
  return ({ key }: { readonly key: { readonly type: string } }) => Promise.resolve(types.includes(key.type) ? 'no' : undefined)
}

/** From connecting until everything is in the zone's store on disk, against storing what came one by one. */
async function freshZone(): Promise<Pair> {
  const store = createMemoryStore({ clock, kinds, instance: 'global-1' })
  await store.create({ key: meshKey('demo'), spec: {} }, byOperator)
  const drafts = Array.from({ length: RESOURCES }, (_, index) => timeout(`t-${index}`))
  for (let start = 0; start < RESOURCES; start += 500)
    await store.writeBatch(
      drafts.slice(start, start + 500).map((draft): Write => ({ kind: 'create', draft })),
      byOperator,
    )
  const ours = () =>
    onDisk(async (disk) => {
      const global = await startGlobal({ store, flushIntervalMs: TICK_MS })
      const start = clock.monotonic()
      const zone = await startZone(global.address, 'east', { store: disk })
      try {
        await until(async () => (await countOf(disk)) === RESOURCES)
        return clock.monotonic() - start
      } finally {
        await zone.stop()
        await global.stop()
      }
    })
  const baseline = () =>
    onDisk(async (disk) => {
      await disk.create({ key: meshKey('demo'), spec: {} }, byOperator)
      const start = clock.monotonic()
      for (const draft of drafts) await disk.create(draft, byOperator)
      return clock.monotonic() - start
    })
  return {
    id: 'kds.fresh-zone',
    title: `${RESOURCES.toLocaleString('en')} resources to a fresh zone, stored on disk`,
    unit: 'ms',
    target: 1.5,
    note: 'baseline: the same store, one transaction per resource, no wire at all',
    runs: await inTurn(3, { ours, baseline }),
  }
}

async function onDisk(work: (disk: ResourceStore) => Promise<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-bench-'))
  const disk = await openSqliteStore(folder, { clock, kinds, instance: 'east' })
  try {
    return await work(disk)
  } finally {
    await disk.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function countOf(store: ResourceStore): Promise<number> {
  let count = 0
  let cursor: string | undefined
  do {
    const page = await store.list({ type: 'MeshTimeout', limit: 1000, ...(cursor !== undefined && { cursor }) })
    count += page.items.length
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return count
}

/** One change until it is in the store of each of 100 zones. */
async function oneChange(): Promise<readonly Pair[]> {
  const global = await startGlobal({ flushIntervalMs: TICK_MS })
  await global.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
  const zones = []
  for (let index = 0; index < ZONES; index++) zones.push(await startZone(global.address, `zone-${index}`))
  const p50s: number[] = []
  const p99s: number[] = []
  try {
    for (const { store } of zones) await until(async () => (await store.list({ type: 'Mesh' })).items.length === 1)
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      await clock.sleep(1.5 * TICK_MS)
      const lags: number[] = []
      const watching = new AbortController()
      const arrivals = zones.map(async ({ store }) => {
        for await (const change of store.changes(watching.signal)) {
          if (change.kind !== 'put' || change.resource.key.type !== 'MeshTimeout') continue
          lags.push(clock.monotonic() - start)
          return
        }
      })
      const start = clock.monotonic()
      await global.store.create(timeout(`t-${repeat}`), byOperator)
      await Promise.all(arrivals)
      watching.abort()
      p50s.push(quantile(lags, 0.5))
      p99s.push(quantile(lags, 0.99))
    }
  } finally {
    for (const zone of zones) await zone.stop()
    await global.stop()
  }
  // A global that looks at all types each second through a cache of a second: the wait for the cache and then for the tick, evenly spread.
  const polled = Array.from({ length: 10_000 }, (_, index) => ((index % 100) / 100) * TICK_MS + (Math.floor(index / 100) / 100) * TICK_MS)
  const against = (measured: readonly number[], share: number) => measured.map((ours) => ({ ours, baseline: quantile(polled, share) }))
  const note =
    'baseline: a model of a look at everything each second through a cache of a second, without any time to send or store; all 100 zones in this one process'
  return [
    { id: 'kds.change.p50', title: `One change to ${ZONES} zones, p50`, unit: 'ms', target: 5, note, runs: against(p50s, 0.5) },
    { id: 'kds.change.p99', title: `One change to ${ZONES} zones, p99`, unit: 'ms', target: 5, note, runs: against(p99s, 0.99) },
  ]
}

/** A full resync of 10,000 resources that finds nothing new, against sending them again. */
async function quietResync(): Promise<readonly Pair[]> {
  const store = createMemoryStore({ clock, kinds, instance: 'global-1' })
  await store.create({ key: meshKey('demo'), spec: {} }, byOperator)
  for (let start = 0; start < RESOURCES; start += 500)
    await store.writeBatch(
      Array.from({ length: 500 }, (_, index): Write => ({ kind: 'create', draft: timeout(`t-${start + index}`) })),
      byOperator,
    )
  const ending = new AbortController()
  const directory = createSyncDirectory({
    store,
    codec,
    origin: 'global',
    types: ['Mesh', 'MeshTimeout'],
    owned: new Set(),
    mayCross: () => true,
    onUnsendable: () => undefined,
  })
  const running = directory.run(ending.signal)
  await directory.ready()
  let bytes = 0
  let answers: { readonly type: string; readonly nonce: string }[] = []
  const sender = createSyncSender({
    clock,
    directory,
    delivery: createDelivery({ backoffMs: () => OLD_BACKOFF_MS }),
    types: ['Mesh', 'MeshTimeout'],
    hashSuffix: true,
    flushIntervalMs: () => 1,
    fullResyncMs: () => 3_600_000,
    write(answer) {
      answers.push(answer)
      for (const { any } of answer.resources) bytes += any.value.length
      return true
    },
    onCount: () => undefined,
    onDelivered: () => undefined,
    onStatus: () => undefined,
    onFault: (error) => {
      throw error
    },
  })
  const request = { subscribe: ['*'], unsubscribe: [], initialVersions: {}, nonce: '', rejection: undefined }
  const acknowledge = () => {
    for (const { type, nonce } of answers.splice(0)) sender.handle(type, { ...request, subscribe: [], nonce })
  }
  for (const type of ['Mesh', 'MeshTimeout']) sender.handle(type, request)
  await until(() => answers.length === 2)
  acknowledge()
  const cpu: { ours: number; baseline: number }[] = []
  const sent: { ours: number; baseline: number }[] = []
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    bytes = 0
    let start = process.cpuUsage()
    sender.changed()
    await clock.sleep(50)
    const ours = { cpu: cpuMs(start), bytes }
    bytes = 0
    start = process.cpuUsage()
    sender.resync()
    acknowledge()
    cpu.push({ ours: ours.cpu, baseline: cpuMs(start) })
    sent.push({ ours: Math.max(1, ours.bytes), baseline: bytes })
  }
  sender.stop({ reason: 'done', byUs: true })
  ending.abort()
  await running
  return [
    {
      id: 'kds.quiet-resync.bytes',
      title: `Full resync of ${RESOURCES.toLocaleString('en')} resources without news: bytes`,
      unit: 'bytes',
      target: 1_000,
      note: 'baseline: all of them again',
      runs: sent,
    },
    {
      id: 'kds.quiet-resync.cpu',
      title: 'The same: CPU, a pause of 50 ms included',
      unit: 'ms',
      target: 1,
      note: 'baseline: all of them again, encoding and writing to a socket left out',
      runs: cpu,
    },
    {
      id: 'kds.quiet-resync.bound',
      title: 'The same: CPU within 50 ms',
      unit: 'ms',
      target: 1,
      runs: bound(
        50,
        cpu.map(({ ours }) => ours),
      ),
    },
  ]
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = clock.monotonic() + 120_000
  while (!(await isSo())) {
    if (clock.monotonic() > giveUpAt) throw new Error('it never came to be')
    await clock.sleep(2)
  }
}

import { pino } from 'pino'
import { yieldToEventLoop } from '../../server/lib/clock.ts'
import { systemRandom } from '../../server/lib/random.ts'
import { createTunable } from '../../server/lib/tunable.ts'
import type { DataplaneInsight } from '../../server/model/insight.ts'
import type { Settings } from '../../server/settings/settings.ts'
import { createDataplaneSink } from '../../server/sinks/dataplane-sink.ts'
import { createFlushScheduler } from '../../server/sinks/flush-scheduler.ts'
import { mergeInsight } from '../../server/sinks/insight-merge.ts'
import type { Write } from '../../server/store/resource-store.ts'
import { createConflictLedger } from '../../server/telemetry/conflict-ledger.ts'
import { type Bench, bound, cpuMs, inTurn, type Pair, quantile, type Run } from '../harness.ts'
import { clock, keyOf, MERGE, openInsights, openOneByOne, subscriptionOf } from './insights-on-disk.ts'

const REPEATS = 5
const BY = { writer: 'bench' }

/** One flush of many insights, in group commits, against a transaction per session. */
export const flushBench: Bench = {
  name: 'flush',
  async run() {
    const count = 5_000
    const ours = await openInsights(count)
    const theirs = openOneByOne(count)
    let generation = 1
    const sorted = ours.keys.map((_, index) => index)
    const random = sorted
      .map((index) => [(Math.sin(index * 12.9898) * 43_758.5453) % 1, index] as const)
      .sort(([a], [b]) => a - b)
      .map(([, index]) => index)
    const changed = (index: number) => ({ ...subscriptionOf(index, 1), connectedAt: generation })
    /** As the sink does: groups of 500, two at a time, each sorted by key, present versions read, merged, one batch. */
    const groups = async (order: readonly number[]) => {
      generation++
      const start = clock.monotonic()
      const underWay = new Set<Promise<void>>()
      for (let from = 0; from < order.length; from += 500) {
        if (underWay.size >= 2) await Promise.race(underWay)
        const flushing = flush(order.slice(from, from + 500).sort((a, b) => a - b)).finally(() => underWay.delete(flushing))
        underWay.add(flushing)
        await yieldToEventLoop()
      }
      await Promise.all(underWay)
      return clock.monotonic() - start
    }
    const flush = async (group: readonly number[]) => {
      const { items } = await ours.store.list<DataplaneInsight>({ type: 'DataplaneInsight', keys: group.map(keyOf), limit: group.length })
      const writes = items.map((resource, place): Write => {
        const spec = mergeInsight(resource.spec, [{ subscription: changed(group[place]!), isNew: false }], MERGE)
        return { kind: 'update', resource: { ...resource, spec } }
      })
      const results = await ours.store.writeBatch(writes, BY)
      if (results.some(({ ok }) => !ok)) throw new Error('a write of a group was refused')
    }
    const oneByOne = (order: readonly number[]) => {
      generation++
      const before = theirs.generations()
      const start = clock.monotonic()
      for (const index of order) theirs.flush(keyOf(index).name, changed(index))
      const took = clock.monotonic() - start
      if (theirs.generations() - before !== order.length) throw new Error('the baseline has not written every row once')
      return Promise.resolve(took)
    }
    const pair = async (id: string, order: readonly number[], target: number): Promise<Pair> => ({
      id: `flush.${id}`,
      title: `Flush of ${count.toLocaleString('en')} insights of 1.5 KB on SQLite, synchronous FULL, ${id === 'sweep' ? 'a full sorted sweep' : 'in random order'}`,
      unit: 'ms',
      target,
      note: 'baseline: one transaction per session on the same disk (read, merge, write), prepared statements, WAL, the same durability',
      runs: await inTurn(REPEATS, { ours: () => groups(order), baseline: () => oneByOne(order) }),
    })
    try {
      const floor: Pair = {
        id: 'flush.floor',
        title: 'SQLite alone: the sorted sweep in transactions of 500, nothing read, merged, encoded or checked',
        unit: 'ms',
        target: 10,
        note: 'the most that group commits can save on this disk',
        runs: await inTurn(REPEATS, { ours: () => Promise.resolve(theirs.bareSweep(sorted)), baseline: () => oneByOne(sorted) }),
      }
      return [await pair('random', random, 5), await pair('sweep', sorted, 10), floor]
    } finally {
      theirs.close()
      await ours.close()
    }
  },
}

const SESSIONS = 10_000
const CHANGES_PER_SECOND = 5_000
const STEP_MS = 10

/** From a change to its being stored, with 10,000 sessions that change 5,000 times a second. */
export const freshnessBench: Bench = {
  name: 'freshness',
  async run() {
    const theirs = openOneByOne(SESSIONS)
    const ours = await openInsights(SESSIONS)
    const at0: Measured[] = []
    const at1: Measured[] = []
    const ticker10: Measured[] = []
    const ticker1: Measured[] = []
    try {
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        at0.push(await sinkLag(ours.store, 0, 3_000))
        ticker10.push(await tickerLag(theirs, 10_000, 12_000))
        at1.push(await sinkLag(ours.store, 1_000, 3_000))
        ticker1.push(await tickerLag(theirs, 1_000, 3_000))
      }
    } finally {
      theirs.close()
      await ours.close()
    }
    const runs = (a: readonly Measured[], b: readonly Measured[], of: (measured: Measured) => number): readonly Run[] =>
      a.map((measured, index) => ({ ours: of(measured), baseline: of(b[index]!) }))
    const cpu = (all: readonly Measured[]) =>
      Math.round(
        quantile(
          all.map((each) => each.cpuPercent),
          0.5,
        ),
      )
    const note = `CPU of one core: ours ${cpu(at0)} % at interval 0 and ${cpu(at1)} % at 1 s, tickers ${cpu(ticker10)} % at 10 s and ${cpu(ticker1)} % at 1 s; 10,000 sessions, 5,000 changes/s, SQLite FULL`
    return [
      {
        id: 'freshness.0.p50',
        title: 'Lag of a change at interval 0, p50, against a 10 s ticker per session',
        unit: 'ms',
        target: 100,
        note,
        runs: runs(at0, ticker10, ({ p50 }) => p50),
      },
      {
        id: 'freshness.0.p50.bound',
        title: 'Lag at interval 0, p50, within 20 ms',
        unit: 'ms',
        target: 1,
        runs: bound(
          20,
          at0.map(({ p50 }) => p50),
        ),
      },
      {
        id: 'freshness.0.p99.bound',
        title: 'Lag at interval 0, p99, within 50 ms',
        unit: 'ms',
        target: 1,
        runs: bound(
          50,
          at0.map(({ p99 }) => p99),
        ),
      },
      {
        id: 'freshness.0.cpu',
        title: 'CPU at interval 0, against a 1 s ticker per session',
        unit: '% of a core',
        target: 1,
        runs: runs(at0, ticker1, ({ cpuPercent }) => cpuPercent),
      },
      {
        id: 'freshness.1.p50',
        title: 'Lag at interval 1 s, p50, against a 1 s ticker per session',
        unit: 'ms',
        target: 1,
        runs: runs(at1, ticker1, ({ p50 }) => p50),
      },
    ]
  },
}

interface Measured {
  readonly p50: number
  readonly p99: number
  readonly cpuPercent: number
}

async function sinkLag(store: Awaited<ReturnType<typeof openInsights>>['store'], intervalMs: number, forMs: number): Promise<Measured> {
  const values: Record<string, ReturnType<typeof createTunable<number | string>>> = {
    'sink.dataplane.flushIntervalMs': createTunable<number | string>(intervalMs),
    'sink.dataplane.flushBackoffMs': createTunable<number | string>('auto'),
    'insight.idleTimeoutMs': createTunable<number | string>(300_000),
    'upsert.baseBackoffMs': createTunable<number | string>(200),
    'upsert.maxBackoffMs': createTunable<number | string>(2_000),
    'upsert.maxTimes': createTunable<number | string>(10),
    'upsert.jitterPercent': createTunable<number | string>(30),
  }
  const settings = {
    tunable: (key: string) => values[key],
    get: () => ({ version: '0', modifiedAt: null }),
    recordEffect: () => undefined,
  } as unknown as Pick<Settings, 'tunable' | 'get' | 'recordEffect'>
  const lags: number[] = []
  let isMeasuring = false
  const sink = createDataplaneSink({
    clock,
    store,
    settings,
    ledger: createConflictLedger({ clock }),
    board: { setPending: () => undefined },
    instance: 'bench',
    random: systemRandom,
    log: pino({ enabled: false }),
    observer: { flushed: () => undefined, attempts: () => undefined, lag: (seconds) => void (isMeasuring && lags.push(seconds * 1000)) },
  })
  const ending = new AbortController()
  const running = sink.run(ending.signal)
  const sessions = Array.from({ length: SESSIONS }, (_, index) =>
    sink.open({ type: 'Dataplane', mesh: 'default', name: keyOf(index).name }, subscriptionOf(index, 1)),
  )
  await clock.sleep(2_500)
  isMeasuring = true
  const start = process.cpuUsage()
  const from = clock.monotonic()
  let next = 0
  await every(forMs, (count) => {
    for (let change = 0; change < count; change++) {
      const index = (next = (next + 7_919) % SESSIONS)
      sessions[index]?.update({ ...subscriptionOf(index, 1), connectedAt: 1_796_140_000_000 + Math.floor(clock.monotonic() * 1000) })
    }
  })
  const cpuPercent = (100 * cpuMs(start)) / (clock.monotonic() - from)
  await clock.sleep(intervalMs + 200)
  isMeasuring = false
  ending.abort()
  await running
  return { p50: quantile(lags, 0.5), p99: quantile(lags, 0.99), cpuPercent }
}

/** Each session has a ticker of its own, its phase by chance, and writes what has changed since: a transaction each. */
async function tickerLag(database: ReturnType<typeof openOneByOne>, periodMs: number, forMs: number): Promise<Measured> {
  const changedAt = new Float64Array(SESSIONS).fill(Number.NaN)
  const dueAt = Float64Array.from(
    { length: SESSIONS },
    (_, index) => clock.monotonic() + ((index * 7_919) % SESSIONS) * (periodMs / SESSIONS),
  )
  const lags: number[] = []
  const start = process.cpuUsage()
  const from = clock.monotonic()
  let next = 0
  await every(forMs, (count) => {
    const now = clock.monotonic()
    for (let change = 0; change < count; change++) {
      next = (next + 7_919) % SESSIONS
      if (Number.isNaN(changedAt[next])) changedAt[next] = now
    }
    for (let index = 0; index < SESSIONS; index++) {
      if (dueAt[index]! > now) continue
      dueAt[index] = dueAt[index]! + periodMs
      if (Number.isNaN(changedAt[index])) continue
      database.flush(keyOf(index).name, { ...subscriptionOf(index, 1), connectedAt: Math.floor(now * 1000) })
      lags.push(clock.monotonic() - changedAt[index]!)
      changedAt[index] = Number.NaN
    }
  })
  return { p50: quantile(lags, 0.5), p99: quantile(lags, 0.99), cpuPercent: (100 * cpuMs(start)) / (clock.monotonic() - from) }
}

/** Calls back each 10 ms with how many changes are due since the last time. */
async function every(forMs: number, step: (count: number) => void): Promise<void> {
  const from = clock.monotonic()
  let made = 0
  for (let elapsed = 0; elapsed < forMs; elapsed = clock.monotonic() - from) {
    const wanted = Math.floor((elapsed * CHANGES_PER_SECOND) / 1000)
    step(wanted - made)
    made = wanted
    await clock.sleep(STEP_MS)
  }
}

const OLD_MS = 10_000
const NEW_MS = 2_000

/** From a new interval until it is in force for each of 10,000 sessions that have something to store. */
export const tuneBench: Bench = {
  name: 'tune',
  async run() {
    const excess: number[] = []
    const next: number[] = []
    const retuning: number[] = []
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const measured = await retune()
      excess.push(quantile(measured.excess, 0.99))
      next.push(quantile(measured.atNextTick, 0.99))
      retuning.push(measured.retuningMs)
    }
    return [
      {
        id: 'tune.excess',
        title: 'A shorter interval: excess over the ideal moment, p99, against reading it at the next tick',
        unit: 'ms',
        target: 50,
        runs: excess.map((ours, index) => ({ ours, baseline: next[index]! })),
      },
      { id: 'tune.excess.bound', title: 'The same within 20 ms', unit: 'ms', target: 1, runs: bound(20, excess) },
      {
        id: 'tune.retuning.bound',
        title: 'Moving all due times of 10,000 sessions within 5 ms',
        unit: 'ms',
        target: 1,
        runs: bound(5, retuning),
      },
    ]
  },
}

async function retune() {
  const intervalMs = createTunable(OLD_MS)
  const lastAt = new Map<string, number>()
  const flushedAt = new Map<string, number>()
  let isMeasuring = false
  const scheduler = createFlushScheduler<string>({
    clock,
    intervalMs,
    backoffMs: createTunable<number | string>(0),
    idleTimeoutMs: createTunable(3_600_000),
    flushGroup: (group) => {
      const now = clock.monotonic()
      for (const { key } of group) {
        if (!isMeasuring) lastAt.set(key, now)
        else if (!flushedAt.has(key)) flushedAt.set(key, now)
      }
      return Promise.resolve(group.map(() => 'settled' as const))
    },
    onInEffect: () => undefined,
    onFault: (error) => {
      throw error
    },
  })
  const ending = new AbortController()
  const running = scheduler.run(ending.signal)
  const keys = Array.from({ length: SESSIONS }, (_, index) => keyOf(index).name)
  // First flushes spread over two seconds, so that their next ones are spread, too.
  for (let start = 0; start < SESSIONS; start += 500) {
    for (const key of keys.slice(start, start + 500)) scheduler.urge(key)
    await clock.sleep(100)
  }
  await clock.sleep(200)
  for (const key of keys) scheduler.changed(key)
  isMeasuring = true
  await clock.sleep(100)
  const changedAt = clock.monotonic()
  intervalMs.set(NEW_MS)
  const retuningMs = clock.monotonic() - changedAt
  await clock.sleep(NEW_MS + 500)
  ending.abort()
  await running
  const excess: number[] = []
  const atNextTick: number[] = []
  for (const [key, last] of lastAt) {
    const at = flushedAt.get(key)
    if (at === undefined) throw new Error(`${key} was not flushed by the new interval`)
    const ideal = Math.max(changedAt, last + NEW_MS)
    excess.push(at - ideal)
    atNextTick.push(last + OLD_MS - ideal)
  }
  return { excess, atNextTick, retuningMs }
}

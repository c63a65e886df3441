import { WebSocket } from 'ws'
import { type Bench, type Pair, quantile, type Run } from '../harness.ts'
import { type Host, sleep, startHost } from './host.ts'

const ROWS = 50_000
const PER_SECOND = 1_000
const BROWSERS = 20
const REPEATS = 5
const CALLS = 40
/** Under load a call may take so many times as long as idle. */
const AT_MOST = 3

/** What an operator waits for while everything moves, against the same while nothing does. */
export const callsBench: Bench = {
  name: 'calls',
  async run() {
    const host = await startHost(ROWS, 0)
    try {
      const kinds = callsOf(host)
      const runs = new Map<string, Run[]>(kinds.map(({ id }) => [id, []]))
      for (const { call } of kinds) for (let warm = 0; warm < 20; warm++) await call()
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        await host.ask({ kind: 'load', perSecond: 0 })
        await sleep(1_000)
        const idle = await p99s(kinds)
        await host.ask({ kind: 'load', perSecond: PER_SECOND })
        const leave = await openBrowsers(host)
        await sleep(1_000)
        const loaded = await p99s(kinds)
        leave()
        for (const { id } of kinds) runs.get(id)!.push({ ours: loaded.get(id)!, baseline: AT_MOST * idle.get(id)! })
      }
      await host.check()
      return kinds.map(({ id, title }): Pair => ({
        id: `calls.${id}`,
        title: `${title}, p99, under load in a bound of ${AT_MOST} times idle`,
        unit: 'ms',
        target: 1,
        runs: runs.get(id)!,
        note: `idle ${quantile(
          runs.get(id)!.map(({ baseline }) => baseline / AT_MOST),
          0.5,
        ).toFixed(1)} ms; load: ${PER_SECOND} changes a second over ${ROWS} data planes, ${BROWSERS} pages live`,
      }))
    } finally {
      host.stop()
    }
  },
}

interface Call {
  readonly id: string
  readonly title: string
  call(): Promise<void>
}

function callsOf(host: Host): readonly Call[] {
  const key = 'sink.zone.flushIntervalMs'
  let version = ''
  let value = 10_000
  return [
    {
      id: 'apply',
      title: 'settings.apply',
      async call() {
        if (version === '')
          version = (await get<{ items: { key: string; version: string }[] }>(host, 'settings.list')).items.find(
            (row) => row.key === key,
          )!.version
        const response = await fetch(`${host.url}/api/trpc/settings.apply`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ key, value: value++, expectedVersion: version }),
        })
        if (!response.ok) throw new Error(`settings.apply answered ${response.status}: ${await response.text()}`)
        version = ((await response.json()) as { result: { data: { setting: { version: string } } } }).result.data.setting.version
      },
    },
    {
      id: 'list',
      title: `50 of ${ROWS} insights, worst first`,
      call: async () => void (await get(host, 'insights.list', { limit: 50, sort: 'worst' })),
    },
    {
      id: 'page',
      title: 'A cold load of the Insights page',
      async call() {
        const response = await fetch(`${host.url}/insights`)
        if (!response.ok) throw new Error(`the page answered ${response.status}`)
        await response.text()
      },
    },
  ]
}

async function p99s(kinds: readonly Call[]): Promise<ReadonlyMap<string, number>> {
  const taken = new Map<string, number[]>(kinds.map(({ id }) => [id, []]))
  for (let round = 0; round < CALLS; round++) {
    for (const { id, call } of kinds) {
      const from = performance.now()
      await call()
      taken.get(id)!.push(performance.now() - from)
    }
    await sleep(20)
  }
  return new Map([...taken].map(([id, times]) => [id, quantile(times, 0.99)]))
}

/** Pages that are open: each follows the counters and forty rows. */
async function openBrowsers(host: Host): Promise<() => void> {
  const { keys } = await get<{ keys: object[] }>(host, 'insights.order', { sort: 'name' })
  const sockets = await Promise.all(
    Array.from({ length: BROWSERS }, async (_, index) => {
      const socket = new WebSocket(`${host.url.replace('http', 'ws')}/api/trpc`, { origin: host.url })
      await new Promise((resolve) => socket.once('open', resolve))
      const input = { counters: true, insights: keys.slice(index * 40, index * 40 + 40) }
      socket.send(JSON.stringify({ id: 1, method: 'subscription', params: { path: 'live', input } }))
      return socket
    }),
  )
  return () => {
    for (const socket of sockets) socket.terminate()
  }
}

async function get<T>(host: Host, procedure: string, input?: object): Promise<T> {
  const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  const response = await fetch(`${host.url}/api/trpc/${procedure}${query}`)
  if (!response.ok) throw new Error(`${procedure} answered ${response.status}`)
  return ((await response.json()) as { result: { data: T } }).result.data
}

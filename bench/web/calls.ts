import { type Bench, type Pair, quantile, type Run } from '../harness.ts'
import { get, openBrowsers } from './browsers.ts'
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
        const leave = await openBrowsers(host.url, BROWSERS)
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
          version = (await get<{ items: { key: string; version: string }[] }>(host.url, 'settings.list')).items.find(
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
      call: async () => void (await get(host.url, 'insights.list', { limit: 50, sort: 'worst' })),
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

import { type Bench, bound, median, quantile } from '../harness.ts'
import { openBrowsers } from '../web/browsers.ts'
import { sleep } from '../web/host.ts'
import { startArm } from './processes.ts'

const PLANES = 10_000
const BATCH = 1_000
const CHANGES_PER_SECOND = 1_000
const BROWSERS = 20
const PAGES_PER_SECOND = 2
const REPEATS = 5
const WINDOW_MS = 5_000
const WITH_PAGES_MS = 20
const WITHOUT_PAGES_MS = 5

/** Everything in one process at once, and how late its event loop gets. */
export const loadBench: Bench = {
  name: 'load',
  async run() {
    const arm = await startArm(['--pages'])
    const { host, fleet, port, url } = arm
    try {
      for (let from = 0; from < PLANES; from += BATCH) await fleet.ask({ kind: 'connect', port, from, count: BATCH, quiet: false })
      await host.ask({ kind: 'sessions', count: PLANES })
      const leave = await openBrowsers(url, BROWSERS)
      await fleet.ask({ kind: 'chatter', perSecond: CHANGES_PER_SECOND })
      for (let warm = 0; warm < 10; warm++) await loadPage(url)
      await sleep(3_000)
      const quiet: Window[] = []
      const withPages: Window[] = []
      const measure = async (pagesPerSecond: number): Promise<Window> => {
        await host.ask({ kind: 'usage' })
        await fleet.ask({ kind: 'chatter', perSecond: CHANGES_PER_SECOND })
        const loads = []
        for (let page = 0; page < (pagesPerSecond * WINDOW_MS) / 1_000; page++) {
          loads.push(loadPage(url))
          await sleep(1_000 / pagesPerSecond)
        }
        if (pagesPerSecond === 0) await sleep(WINDOW_MS)
        await Promise.all(loads)
        const { lags, cpuMs, elapsedMs } = await host.ask({ kind: 'usage' })
        const { changes } = await fleet.ask({ kind: 'chatter', perSecond: CHANGES_PER_SECOND })
        return { p99: quantile(lags, 0.99), cpuPercent: (100 * cpuMs) / elapsedMs, changesPerSecond: changes / (elapsedMs / 1_000) }
      }
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        quiet.push(await measure(0))
        withPages.push(await measure(PAGES_PER_SECOND))
      }
      await fleet.ask({ kind: 'chatter', perSecond: 0 })
      leave()
      await sleep(2_000)
      await host.ask({ kind: 'check', count: PLANES })
      const p99s = (windows: readonly Window[]) => windows.map(({ p99 }) => p99)
      return [
        {
          id: 'load.lag',
          title: `Event loop lag, p99, with ${PLANES.toLocaleString('en')} data planes, ${CHANGES_PER_SECOND} changes/s and ${BROWSERS} pages live, within ${WITHOUT_PAGES_MS} ms`,
          unit: 'ms',
          target: 1,
          runs: bound(WITHOUT_PAGES_MS, p99s(quiet)),
          note: noteOf(quiet),
        },
        {
          id: 'load.lag.pages',
          title: `The same while pages are loaded, ${PAGES_PER_SECOND} a second, within ${WITH_PAGES_MS} ms`,
          unit: 'ms',
          target: 1,
          runs: bound(WITH_PAGES_MS, p99s(withPages)),
          note: noteOf(withPages),
        },
      ]
    } finally {
      await arm.stop()
    }
  },
}

interface Window {
  readonly p99: number
  readonly cpuPercent: number
  readonly changesPerSecond: number
}

function noteOf(windows: readonly Window[]): string {
  const cpu = median(windows.map(({ cpuPercent }) => cpuPercent)).toFixed(0)
  const changes = median(windows.map(({ changesPerSecond }) => changesPerSecond)).toFixed(0)
  return `CPU of all threads ${cpu} % of a core; ${changes} changes/s, each a request, an answer and its ACK; data planes and pages share the other core`
}

async function loadPage(url: string): Promise<void> {
  const response = await fetch(`${url}/insights`)
  if (!response.ok) throw new Error(`the page answered ${response.status}`)
  await response.text()
}

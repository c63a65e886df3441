import { type Bench, bound, median, type Pair } from '../harness.ts'
import { sleep } from '../web/host.ts'
import { startArm } from './processes.ts'

const PLANES = 10_000
const BATCH = 2_000
const PUSHES = 5
const MOST_KB = 60
const PUSH_WITHIN_MS = 800
/** Until what connecting leaves behind is flushed and collected. */
const SETTLE_MS = 1_500

/** Ten thousand data planes, each on a connection of its own: what they cost, and how long a push to all of them takes. */
export const planesBench: Bench = {
  name: 'planes',
  async run() {
    const arm = await startArm()
    const { host, fleet, port } = arm
    try {
      const perSecond: number[] = []
      const quietKb: number[] = []
      let { rssBytes } = await host.ask({ kind: 'memory' })
      for (let from = 0; from < PLANES; from += BATCH) {
        const startedAt = performance.now()
        await fleet.ask({ kind: 'connect', port, from, count: BATCH, quiet: true })
        await host.ask({ kind: 'sessions', count: from + BATCH })
        perSecond.push(BATCH / ((performance.now() - startedAt) / 1_000))
        await sleep(SETTLE_MS)
        const now = await host.ask({ kind: 'memory' })
        quietKb.push((now.rssBytes - rssBytes) / BATCH / 1_024)
        rssBytes = now.rssBytes
      }
      const { tookMs: configureMs } = await fleet.ask({ kind: 'configure' })
      await sleep(SETTLE_MS)
      const configuredKb = ((await host.ask({ kind: 'memory' })).rssBytes - rssBytes) / PLANES / 1_024
      const pushes: { readonly tookMs: number; readonly cpuMs: number }[] = []
      // The first one finds code that never ran.
      for (let push = 0; push <= PUSHES; push++) {
        const measured = await host.ask({ kind: 'push' })
        await fleet.ask({ kind: 'pushed' })
        if (push > 0) pushes.push(measured)
        await sleep(SETTLE_MS)
      }
      await host.ask({ kind: 'check', count: PLANES })
      const cpuMs = median(pushes.map((push) => push.cpuMs)).toFixed(0)
      return [
        {
          id: 'planes.memory',
          title: `Memory (RSS) of a data plane that is connected and registered, before it asks for anything, within ${MOST_KB} KB`,
          unit: 'KB',
          target: 1,
          runs: bound(MOST_KB, quietKb),
          note: `batches of ${BATCH} up to ${PLANES}, after a collection; its configuration adds ${configuredKb.toFixed(0)} KB; ${median(perSecond).toFixed(0)} connects a second, registration on disk included, and all ${PLANES} configured ${(configureMs / 1_000).toFixed(1)} s after they asked together`,
        },
        {
          id: 'planes.push',
          title: `One push to ${PLANES.toLocaleString('en')} until the last ACK, within ${PUSH_WITHIN_MS} ms`,
          unit: 'ms',
          target: 1,
          runs: bound(
            PUSH_WITHIN_MS,
            pushes.map(({ tookMs }) => tookMs),
          ),
          note: `CPU of the process (all threads) ${cpuMs} ms; the data planes run on the other core`,
        },
      ] satisfies Pair[]
    } finally {
      await arm.stop()
    }
  },
}

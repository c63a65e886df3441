/**
 * The simulated fleet, a process of its own that speaks real xDS:
 *
 *   node server/demo/fleet.ts --xds 127.0.0.1:7678 [--dataplanes 200] [--meshes default,shop] [--seed 1] [--calm]
 *
 * --calm: none flaps, or leaves and comes back, by itself.
 *
 * Started with an IPC channel it takes { kind: 'set', fault, active } and sends { kind: 'faults', faults } at the start and
 * after each change, and ends when the channel closes.
 */
import { parseArgs } from 'node:util'
import { createSystemClock } from '../lib/clock.ts'
import { loadAdsProtocol } from './ads-protocol.ts'
import { createDataPlane } from './data-plane.ts'
import { createFaults } from './faults.ts'
import { populate, seededRandom } from './population.ts'

const MOST = 20_000
/** Connections opened per second: fast, but not a storm of its own making. */
const CONNECTS_PER_SECOND = 200

interface FleetOptions {
  readonly xds: string
  readonly count: number
  readonly meshes: readonly string[]
  readonly seed: number
  readonly isCalm: boolean
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (typeof options === 'string') {
    process.stderr.write(`fleet: ${options}\n`)
    process.exit(2)
  }
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort())
  process.on('disconnect', () => ending.abort())

  const clock = createSystemClock()
  const random = seededRandom(options.seed)
  const protocol = loadAdsProtocol()
  const fleet = populate(options.meshes, options.count, options.seed).map((identity) =>
    createDataPlane({ clock, random, protocol, xds: options.xds }, identity),
  )
  const faults = createFaults({ clock, random, fleet, onChange: announce })
  process.on('message', (message: { kind?: string; fault?: string; active?: boolean }) => {
    if (message.kind === 'set' && typeof message.fault === 'string') faults.set(message.fault, message.active === true)
    announce()
  })
  process.stderr.write(`fleet: ${options.count} simulated data planes in ${options.meshes.join(', ')} connect to ${options.xds}\n`)
  announce()

  const running = options.isCalm ? [] : [faults.run(ending.signal)]
  for (const [index, dataPlane] of fleet.entries()) {
    if (index % 20 === 19) await clock.sleep((1000 * 20) / CONNECTS_PER_SECOND, ending.signal).catch(() => undefined)
    if (ending.signal.aborted) break
    running.push(dataPlane.run(ending.signal))
  }
  await Promise.allSettled(running)
  process.exit(0)

  function announce() {
    if (process.connected) process.send?.({ kind: 'faults', faults: faults.list() })
  }
}

/** The options, or one line that says what is wrong and what would be right. */
function readOptions(args: readonly string[]): FleetOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        xds: { type: 'string' },
        dataplanes: { type: 'string', default: '200' },
        meshes: { type: 'string', default: 'default' },
        seed: { type: 'string', default: '1' },
        calm: { type: 'boolean', default: false },
      },
    })
    const count = Number(values.dataplanes)
    const seed = Number(values.seed)
    const meshes = values.meshes.split(',').filter((mesh) => mesh !== '')
    if (values.xds === undefined || !/^.+:\d+$/.test(values.xds))
      return `--xds needs host:port of a Tidewatch, for example --xds 127.0.0.1:7678${values.xds === undefined ? '' : `, not "${values.xds}"`}`
    if (!Number.isInteger(count) || count < 1 || count > MOST)
      return `--dataplanes must be a whole number from 1 to ${MOST}, not "${values.dataplanes}"`
    if (!Number.isInteger(seed) || seed < 0) return `--seed must be a whole number from 0 on, not "${values.seed}"`
    if (meshes.length === 0) return '--meshes needs at least one name, for example --meshes default,shop'
    return { xds: values.xds, count, meshes, seed, isCalm: values.calm }
  } catch (error) {
    return (error as Error).message
  }
}

await main()

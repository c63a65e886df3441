/**
 * Simulated zones, a process of its own: each zone is a real zone control plane in a further process, reached through a wire that can be
 * cut, asking a webhook that can refuse, with a few simulated data planes of its own:
 *
 *   node server/demo/zones.ts --kds 127.0.0.1:7685 --data-dir DIR [--zones east,west]
 *
 * Started with an IPC channel it takes { kind: 'set', fault, active } and sends { kind: 'faults', faults } at the start and after each
 * change, and ends when the channel closes.
 */
import { parseArgs } from 'node:util'
import { type Clock, createSystemClock } from '../lib/clock.ts'
import type { DemoFault } from '../model/views.ts'
import { loadAdsProtocol } from './ads-protocol.ts'
import { type AdmissionRequest, createAdmission } from './admission.ts'
import { createCuttableProxy, type CuttableProxy } from './cuttable-proxy.ts'
import { createDataPlane } from './data-plane.ts'
import { populate, seededRandom } from './population.ts'
import { startZoneProcess } from './zone-process.ts'

const DATA_PLANES = 3
const RESTART_MS = 2_000
const SLOW_MS = 2_000

interface Switch extends Omit<DemoFault, 'active' | 'name'> {
  readonly apply: (active: boolean) => void
}

if (import.meta.main) await main()

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (typeof options === 'string') {
    process.stderr.write(`zones: ${options}\n`)
    process.exit(2)
  }
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort())
  process.on('disconnect', () => ending.abort())
  const clock = createSystemClock()
  const [broken = ''] = options.zones
  const active = new Set<string>()
  const proxies = new Map<string, CuttableProxy>()
  for (const zone of options.zones) proxies.set(zone, await createCuttableProxy(options.kds))

  const switches: Readonly<Record<string, Switch>> = {
    'zone-rejects': {
      label: `${broken} refuses timeouts`,
      description: `The admission webhook of zone ${broken} refuses every MeshTimeout; all else reaches the zone at once.`,
      apply: () => undefined,
    },
    'mesh-missing': {
      label: `${broken} lacks a mesh`,
      description: `A mesh "late" is made, and zone ${broken} refuses it: its default policies, of three types, have no owner there.`,
      apply: () => undefined,
    },
    'zone-cut': {
      label: `${broken} is cut off`,
      description: `The connection of zone ${broken} is cut, and it gets no other.`,
      apply: (isCut) => proxies.get(broken)?.cut(isCut),
    },
    'zone-slow-store': {
      label: `${broken} stores slowly`,
      description: `Zone ${broken} takes ${SLOW_MS / 1000} s to store each resource: its webhook answers late.`,
      apply: () => undefined,
    },
  }

  const judge = ({ kind: { kind }, name }: AdmissionRequest) => {
    if (active.has('zone-rejects') && kind === 'MeshTimeout') return 'simulated: timeouts are frozen in this zone'
    if (active.has('mesh-missing') && kind === 'Mesh' && name === 'late') return 'simulated: this zone takes no new mesh today'
    return undefined
  }
  const slow = await createAdmission(clock, { judge, delayMs: () => (active.has('zone-slow-store') ? SLOW_MS : 0) })
  const open = await createAdmission(clock, { judge: () => undefined, delayMs: () => 0 })

  process.on('message', (message: { kind?: string; fault?: string; active?: boolean }) => {
    const { fault = '' } = message
    if (message.kind !== 'set' || switches[fault] === undefined) return
    if (message.active === true) active.add(fault)
    else active.delete(fault)
    switches[fault].apply(message.active === true)
    announce()
  })
  announce()

  const running = options.zones.map((zone, index) =>
    keepRunning(
      { clock, signal: ending.signal },
      {
        name: zone,
        global: proxies.get(zone)?.address ?? options.kds,
        webhookUrl: index === 0 ? slow.url : open.url,
        dataDir: options.dataDir,
      },
    ),
  )
  await Promise.allSettled(running)
  for (const each of [slow, open, ...proxies.values()]) each.close()
  process.exit(0)

  function announce() {
    const faults = Object.entries(switches).map(([name, { label, description }]) => ({
      name,
      label,
      description,
      active: active.has(name),
    }))
    if (process.connected) process.send?.({ kind: 'faults', faults })
  }
}

interface Running {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A zone that dies is started again. */
async function keepRunning({ clock, signal }: Running, options: Parameters<typeof startZoneProcess>[0]): Promise<void> {
  while (!signal.aborted) {
    const zone = startZoneProcess(options)
    const stop = () => zone.stop()
    signal.addEventListener('abort', stop, { once: true })
    const leaving = new AbortController()
    const planes = populateZone({ clock, signal: leaving.signal }, { xds: zone.xds, name: options.name })
    await zone.ended
    leaving.abort()
    signal.removeEventListener('abort', stop)
    await planes
    await clock.sleep(RESTART_MS, signal).catch(() => undefined)
  }
}

async function populateZone(
  { clock, signal }: Running,
  { xds, name }: { readonly xds: Promise<string>; readonly name: string },
): Promise<void> {
  const address = await xds.catch(() => undefined)
  if (address === undefined || signal.aborted) return
  const seed = name.length
  const protocol = loadAdsProtocol()
  const random = seededRandom(seed)
  const planes = populate(['default'], DATA_PLANES, seed).map((identity) =>
    createDataPlane({ clock, random, protocol, xds: address }, identity),
  )
  await Promise.allSettled(planes.map((plane) => plane.run(signal)))
}

/** The options, or one line that says what is wrong and what would be right. */
function readOptions(
  args: readonly string[],
): { readonly kds: string; readonly zones: readonly string[]; readonly dataDir: string } | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { kds: { type: 'string' }, zones: { type: 'string', default: 'east,west' }, 'data-dir': { type: 'string' } },
    })
    const zones = values.zones.split(',').filter((zone) => zone !== '')
    if (values.kds === undefined || !/^.+:\d+$/.test(values.kds))
      return '--kds needs host:port of a global Tidewatch, for example --kds 127.0.0.1:7685'
    if (values['data-dir'] === undefined) return '--data-dir needs a folder where the zones keep their data'
    if (zones.length === 0) return '--zones needs at least one name, for example --zones east,west'
    return { kds: values.kds, zones, dataDir: values['data-dir'] }
  } catch (error) {
    return (error as Error).message
  }
}

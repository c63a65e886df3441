/**
 * Simulated Kubernetes API servers, a process of its own: real HTTP (HTTPS with a certificate) on loopback, one port for each cluster:
 *
 *   node server/demo/kube-api.ts --token TOKEN --clusters prod-eu=6443,edge=6444 [--tls-cert FILE --tls-key FILE]
 *
 * Started with an IPC channel it takes { kind: 'set', fault, active } and sends { kind: 'faults', faults } at the start and after each
 * change, and ends when the channel closes.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createSystemClock } from '../lib/clock.ts'
import type { DemoFault } from '../model/views.ts'
import { createKubeCluster, simulatedKinds } from './kube-cluster.ts'
import { createKubeServer, type KubeServer, type KubeTrouble } from './kube-server.ts'
import { createKubeStore } from './kube-store.ts'
import { createKubeWorkloads, workloadKinds, type WorkloadFault } from './kube-workloads.ts'
import { seededRandom } from './population.ts'

const FIRST_VERSION = 1_000
/** What was written between the backup and the start: a backup is old. */
const SINCE_BACKUP = 50_000
const WINDOW = 2_000
const BOOKMARK_EVERY_MS = 5_000
const RETRY_AFTER_S = 5
const SLOW_MS = 3_000
/** The real one holds them for a minute. */
const STOP_HOLDS_MS = 15_000
const USER = 'tidewatch'

interface Switch extends Omit<DemoFault, 'active' | 'name'> {
  readonly on: Cluster | undefined
  readonly trouble: KubeTrouble | 'restore' | WorkloadFault
}
interface Cluster {
  readonly name: string
  readonly server: KubeServer
  readonly restore: () => void
  readonly setFault: (fault: WorkloadFault, isActive: boolean) => void
}

if (import.meta.main) await main()

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (typeof options === 'string') {
    process.stderr.write(`kube-api: ${options}\n`)
    process.exit(2)
  }
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort())
  process.on('disconnect', () => ending.abort())
  const { token, tls } = options
  const clock = createSystemClock()
  const lives: Promise<void>[] = []
  const clusters = await Promise.all(options.clusters.map(startCluster))
  const active = new Set<string>()
  const switches = switchesOf(clusters)

  process.on('message', (message: { kind?: string; fault?: string; active?: boolean }) => {
    const { fault = '' } = message
    if (message.kind === 'set' && switches[fault] !== undefined) void move(fault, message.active === true)
  })
  announce()
  await Promise.allSettled(lives)
  for (const { server } of clusters) server.close()
  process.exit(0)

  async function startCluster({ name, port }: { readonly name: string; readonly port: number }, index: number): Promise<Cluster> {
    const store = createKubeStore({ firstVersion: FIRST_VERSION + SINCE_BACKUP, window: WINDOW })
    const random = seededRandom(index + 1)
    const cluster = createKubeCluster({ clock, random, store }, { name, nodes: index === 0 ? 6 : 3, pods: index === 0 ? 20 : 4 })
    const workloads = index === 0 ? createKubeWorkloads({ clock, random, store }) : undefined
    const restore = store.backup(FIRST_VERSION)
    const server = await createKubeServer(
      { clock, store },
      { port, tokens: { [token]: USER }, kinds: [...simulatedKinds, ...workloadKinds], ...(tls !== undefined && { tls }) },
    )
    lives.push(cluster.run(ending.signal, server.flush), bookmarks(server))
    if (workloads !== undefined) lives.push(workloads.run(ending.signal, server.flush))
    return {
      name,
      server,
      restore() {
        restore()
        server.cutAll()
      },
      setFault(fault, isActive) {
        workloads?.setFault(fault, isActive)
        server.flush()
      },
    }
  }

  async function bookmarks(server: KubeServer): Promise<void> {
    for (;;) {
      await clock.sleep(BOOKMARK_EVERY_MS, ending.signal)
      server.bookmark()
    }
  }

  async function move(name: string, isOn: boolean): Promise<void> {
    const { on, trouble } = switches[name]!
    if (trouble === 'restore') {
      if (isOn) on?.restore()
    } else if (typeof trouble === 'string') on?.setFault(trouble, isOn)
    else {
      // A server has one trouble at a time: another one of its switches goes off.
      for (const other of active) if (switches[other]?.on === on && typeof switches[other]?.trouble === 'object') active.delete(other)
      await on?.server.setTrouble(isOn ? trouble : undefined)
    }
    if (isOn) active.add(name)
    else active.delete(name)
    announce()
    if (trouble !== 'restore' || !isOn) return
    // Restored once; there is nothing to leave on.
    await clock.sleep(BOOKMARK_EVERY_MS, ending.signal).catch(() => undefined)
    active.delete(name)
    announce()
  }

  function announce() {
    const faults: DemoFault[] = Object.entries(switches).map(([name, { label, description }]) => ({
      name,
      label,
      description,
      active: active.has(name),
    }))
    if (process.connected) process.send?.({ kind: 'faults', faults })
  }
}

function switchesOf(clusters: readonly Cluster[]): Readonly<Record<string, Switch>> {
  const [first] = clusters
  const last = clusters.at(-1)
  const [main = '', away = ''] = [first?.name, last?.name]
  return {
    'kube-down': {
      label: `${away} is down`,
      description: `The simulated API server of ${away} takes no connections.`,
      on: last,
      trouble: { kind: 'down' },
    },
    'kube-stopping': {
      label: `${away} stops gracefully`,
      description: `The simulated API server of ${away} takes no new connections; what is watched goes on for ${STOP_HOLDS_MS / 1000} s, then ends cleanly.`,
      on: last,
      trouble: { kind: 'stopping', holdMs: STOP_HOLDS_MS },
    },
    'kube-forbidden': {
      label: `${main} forbids pods`,
      description: `The simulated API server of ${main} answers 403 to whoever lists or watches pods; other kinds go on.`,
      on: first,
      trouble: { kind: 'forbidden', plural: 'pods' },
    },
    'kube-gone': {
      label: `${main} forgets versions`,
      description: `Each watch of ${main} ends with 410 after a second: all is listed again.`,
      on: first,
      trouble: { kind: 'gone' },
    },
    'kube-closing': {
      label: `${main} ends watches`,
      description: `Each watch of ${main} is accepted and ends cleanly at once, before anything came: asked in a loop, it would be a hot one.`,
      on: first,
      trouble: { kind: 'closing' },
    },
    'kube-throttled': {
      label: `${main} throttles`,
      description: `${main} answers 429 to everything, with Retry-After: ${RETRY_AFTER_S}.`,
      on: first,
      trouble: { kind: 'throttled', retryAfterSeconds: RETRY_AFTER_S },
    },
    'kube-silent': {
      label: `${main} is silent`,
      description: `Connections to ${main} stay open, and nothing comes through them: half open. It is noticed after watch.idleTimeoutMs, almost 5 min by default.`,
      on: first,
      trouble: { kind: 'silent' },
    },
    'kube-slow': {
      label: `${main} is slow`,
      description: `${main} takes ${SLOW_MS / 1000} s to begin each answer.`,
      on: first,
      trouble: { kind: 'slow', delayMs: SLOW_MS },
    },
    'kube-restored': {
      label: `${main} from a backup`,
      description: `The store of ${main} is put back to an old backup: versions that were seen are in its future. Switches itself off.`,
      on: first,
      trouble: 'restore',
    },
    'kube-unobserved': {
      label: `${main} controller stuck`,
      description: `The controller of the deployment shop/checkout in ${main} sees nothing of what is asked of it: its observedGeneration stays behind.`,
      on: first,
      trouble: 'unobserved',
    },
    'kube-contended': {
      label: `${main} contenders`,
      description: `Two GitOps tools write the spec of the deployment shop/payments in ${main} in turn, each undoing what the other did.`,
      on: first,
      trouble: 'contended',
    },
    'kube-failing': {
      label: `${main} jobs fail`,
      description: `The cron jobs of ${main} are started each minute, and none succeeds: they are late after 90 s.`,
      on: first,
      trouble: 'failing',
    },
  }
}

interface Options {
  readonly token: string
  readonly clusters: readonly { readonly name: string; readonly port: number }[]
  readonly tls: { readonly cert: string; readonly key: string } | undefined
}

/** The options, or one line that says what is wrong and what would be right. */
function readOptions(args: readonly string[]): Options | string {
  try {
    const option = { type: 'string' } as const
    const { values } = parseArgs({ args: [...args], options: { token: option, clusters: option, 'tls-cert': option, 'tls-key': option } })
    const { 'tls-cert': cert, 'tls-key': key } = values
    if ((cert === undefined) !== (key === undefined)) return '--tls-cert and --tls-key go together: each names a PEM file'
    const tls = cert === undefined || key === undefined ? undefined : { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
    if (values.token === undefined || values.token === '') return '--token needs what clients have to send as their bearer token'
    const clusters = (values.clusters ?? '').split(',').map((part) => {
      const [name = '', port = ''] = part.split('=')
      return { name, port: Number(port) }
    })
    if (!clusters.every(({ name, port }) => name !== '' && Number.isInteger(port) && port > 0))
      return '--clusters needs names with ports, for example --clusters prod-eu=6443,edge=6444'
    return { token: values.token, clusters, tls }
  } catch (error) {
    return (error as Error).message
  }
}

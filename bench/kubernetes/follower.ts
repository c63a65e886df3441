/** One arm in a process of its own: follows the leases for a while and prints what it saw. `ours-stream`, `ours-pages` or `informer`. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { writeFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface FollowerFigures {
  readonly objects: number
  readonly syncMs: number
  /** While everything was read. */
  readonly longestBlockMs: number
  readonly events: number
  readonly lagMs: { readonly p50: number; readonly p99: number }
  readonly rssMb: number
  readonly peakRssMb: number
}

const [arm = '', port = '', seconds = '10'] = process.argv.slice(2)
const server = `http://127.0.0.1:${port}`
const lags: number[] = []
let isSynced = false
let synced: (objects: number) => void = () => undefined
const followed = new Promise<number>((resolve) => (synced = resolve))
const follow = { 'ours-stream': () => ours('stream'), 'ours-pages': () => ours('pages'), informer }[arm]
if (follow === undefined) throw new Error(`no arm "${arm}"`)

let peak = 0
setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 50).unref()
// What loading takes is the same for all and not measured.
const { KubeConfig, CoordinationV1Api, makeInformer } = await import('@kubernetes/client-node')
const [{ createSystemClock }, { createTunable }, { loadKubeContexts }, { createNodeLeases }, { createWatcher }] = await Promise.all([
  import('../../server/lib/clock.ts'),
  import('../../server/lib/tunable.ts'),
  import('../../server/kubernetes/kube-contexts.ts'),
  import('../../server/kubernetes/node-leases.ts'),
  import('../../server/kubernetes/watcher.ts'),
])
const blocks = monitorEventLoopDelay({ resolution: 1 })
blocks.enable()
const startedAt = performance.now()
await follow()
const objects = await followed
const syncMs = performance.now() - startedAt
await new Promise((resolve) => setTimeout(resolve, 20))
const longestBlockMs = blocks.max / 1e6
// The rate is steady after a second.
await new Promise((resolve) => setTimeout(resolve, 1_000))
lags.length = 0
isSynced = true
await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000))
lags.sort((a, b) => a - b)
const quantile = (q: number) => lags[Math.min(lags.length - 1, Math.floor(q * lags.length))] ?? Number.NaN
const figures: FollowerFigures = {
  objects,
  syncMs,
  longestBlockMs,
  events: lags.length,
  lagMs: { p50: quantile(0.5), p99: quantile(0.99) },
  rssMb: process.memoryUsage.rss() / 1e6,
  peakRssMb: peak / 1e6,
}
console.log(JSON.stringify(figures))
process.exit(0)

function seen(renewTime: string | Date | undefined) {
  if (isSynced && renewTime !== undefined) lags.push(Date.now() - new Date(renewTime).getTime())
}

async function ours(how: 'stream' | 'pages') {
  const clock = createSystemClock()
  const kubeconfig = join(mkdtempSync(join(tmpdir(), 'tidewatch-bench-')), 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf()))
  let count = 0
  const { link } = createWatcher(
    {
      clock,
      context: loadKubeContexts(kubeconfig).context(undefined),
      insights: { set: () => {}, remove: () => {} },
      nodeLeases: createNodeLeases(),
      serverTimeoutMs: createTunable(290_000),
      idleTimeoutMs: createTunable(295_000),
    },
    { id: 'leases', apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...(how === 'pages' && { labelSelector: 'pages' }) },
  )
  void link.connector.connect({
    signal: new AbortController().signal,
    number: 1,
    syncing: () => {},
    live: () => synced(count),
    // The lag it reports is what we measure: from the moment in the lease to when it is in the copy and was told on.
    event: (_, info) => isSynced && info?.lagMs !== undefined && lags.push(info.lagMs),
    bookmark: () => {},
    request: () => {},
    relist: () => {},
    bad: (what) => console.error(what),
    objects: (total) => (count = total),
    note: () => {},
    listTurn: async () => () => {},
  })
}

async function informer() {
  const config = new KubeConfig()
  config.loadFromString(JSON.stringify(kubeconfigOf()))
  const api = config.makeApiClient(CoordinationV1Api)
  const following = makeInformer(config, '/apis/coordination.k8s.io/v1/leases', () => api.listLeaseForAllNamespaces())
  let count = 0
  following.on('add', () => void count++)
  following.on('update', (lease) => seen(lease.spec?.renewTime))
  following.on('error', (error) => console.error(error))
  await following.start()
  synced(count)
}

function kubeconfigOf() {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    clusters: [{ name: 'bench', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'us', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'us' } }],
  }
}

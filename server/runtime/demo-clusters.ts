import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Config } from './config.ts'

/** The clusters --demo simulates, and what it watches of them. */
export interface DemoClusters extends Pick<Config, 'watchers'> {
  readonly kubeconfig: string
  readonly token: string
  readonly ports: Readonly<Record<string, number>>
}

/** So that no page shows one without saying what it is. */
const simulated = (cluster: string) => `${cluster} (simulated)`
/** The first has all kinds; the last goes down alone. */
const CLUSTERS = ['prod-eu', 'edge']
const NODE = { apiVersion: 'v1', kind: 'Node' }
const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
const WATCHERS: Config['watchers'] = [
  { id: 'prod-eu/nodes', context: simulated('prod-eu'), ...NODE },
  { id: 'prod-eu/leases', context: simulated('prod-eu'), ...LEASE },
  { id: 'prod-eu/pods', context: simulated('prod-eu'), apiVersion: 'v1', kind: 'Pod' },
  { id: 'prod-eu/deployments', context: simulated('prod-eu'), apiVersion: 'apps/v1', kind: 'Deployment' },
  {
    id: 'prod-eu/cron-jobs',
    context: simulated('prod-eu'),
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    freshness: { path: '.status.lastSuccessfulTime', cadenceMs: 60_000 },
  },
  { id: 'prod-eu/kuma-data-planes', context: simulated('prod-eu'), apiVersion: 'kuma.io/v1alpha1', kind: 'DataplaneInsight' },
  { id: 'edge/nodes', context: simulated('edge'), ...NODE },
  { id: 'edge/leases', context: simulated('edge'), ...LEASE },
]

/** Chooses free ports and writes a kubeconfig into the data directory; nothing listens there yet. Undefined when the configuration has watchers of its own. */
export async function planDemoClusters(
  { watchers, dataDir }: Pick<Config, 'watchers' | 'dataDir'>,
  token: string,
): Promise<DemoClusters | undefined> {
  if (watchers.length > 0) return undefined
  const free = await freePorts(CLUSTERS.length)
  const ports = Object.fromEntries(CLUSTERS.map((name, index) => [name, free[index] ?? 0]))
  mkdirSync(dataDir, { recursive: true })
  const kubeconfig = join(dataDir, 'demo-kubeconfig.yaml')
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': simulated(CLUSTERS[0] ?? ''),
    clusters: CLUSTERS.map((name) => ({ name, cluster: { server: `http://127.0.0.1:${ports[name]}` } })),
    users: [{ name: 'tidewatch', user: { token } }],
    contexts: CLUSTERS.map((name) => ({ name: simulated(name), context: { cluster: name, user: 'tidewatch' } })),
  })
  writeFileSync(kubeconfig, text, { mode: 0o600 })
  return { kubeconfig, token, ports, watchers: WATCHERS }
}

/** All are held until each is known, so that no two are one. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

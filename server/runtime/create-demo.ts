import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../lib/clock.ts'
import { isCoreError } from '../lib/errors.ts'
import type { Random } from '../lib/random.ts'
import type { Part } from '../lib/supervisor.ts'
import type { Settings } from '../settings/settings.ts'
import type { Config } from './config.ts'
import { createConflictStorm } from './conflict-storm.ts'
import type { DemoControls } from './control-plane.ts'
import type { DemoClusters } from './demo-clusters.ts'
import { combineDemo, createDemoProcess } from './demo-process.ts'
import type { ResourceService } from './resource-service.ts'

/** All that --demo simulates, each in a process of its own over the real protocols, and the switches that break it. */
export interface Demo {
  readonly controls: DemoControls
  /** To be run once we listen: they connect to us. */
  readonly parts: readonly Part[]
  /** To be run at once, and what we connect to: waited for before links are run, so that none begins with a refusal. Undefined: none. */
  readonly clusters: (Part & { readonly ready: Promise<void> }) | undefined
}

export interface DemoDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly config: Pick<Config, 'meshes' | 'dataDir'>
  readonly settings: Pick<Settings, 'get' | 'apply'>
  readonly resources: Pick<ResourceService, 'apply' | 'delete'>
  /** host:port, once they are known. */
  readonly xds: () => string
  readonly kds: () => string
  /** Undefined: none are simulated. */
  readonly clusters: DemoClusters | undefined
}

const DATA_PLANES = 200
const ZONES = ['east', 'west']
/** Each zone has last flushes of its own. */
const ZONES_END_WITHIN_MS = 5_000
/** The mesh whose policies come to a zone that refuses the mesh itself. */
const LATE_MESH = { type: 'Mesh', mesh: '', name: 'late' }

export function createDemo({ config, settings, resources, xds, kds, clusters, ...deps }: DemoDeps): Demo {
  const fleet = createDemoProcess(
    { ...deps, alongside: { 'conflict-storm': createConflictStorm(settings) } },
    {
      what: 'the simulated fleet',
      entry: join(import.meta.dirname, '../demo/fleet.ts'),
      args: () => ['--xds', xds(), '--dataplanes', String(DATA_PLANES), '--meshes', config.meshes.map(({ name }) => name).join(',')],
    },
  )
  const zones = createDemoProcess(
    { ...deps, alongside: { 'mesh-missing': lateMesh } },
    {
      what: 'what simulates zones',
      entry: join(import.meta.dirname, '../demo/zones.ts'),
      endWithinMs: ZONES_END_WITHIN_MS,
      args: () => ['--kds', kds(), '--zones', ZONES.join(','), '--data-dir', config.dataDir],
    },
  )
  const kubernetes =
    clusters &&
    createDemoProcess(
      { ...deps, alongside: {} },
      {
        what: 'what simulates Kubernetes',
        entry: join(import.meta.dirname, '../demo/kube-api.ts'),
        args: () => [
          '--token',
          clusters.token,
          '--clusters',
          Object.entries(clusters.ports)
            .map((each) => each.join('='))
            .join(','),
        ],
      },
    )
  return {
    controls: combineDemo([fleet, zones, ...(kubernetes === undefined ? [] : [kubernetes])]),
    parts: [
      { name: 'simulated fleet', run: fleet.run },
      { name: 'simulated zones', run: zones.run },
    ],
    clusters: kubernetes && { name: 'simulated Kubernetes', run: kubernetes.run, ready: kubernetes.ready },
  }

  /** A mesh made while a zone refuses it: its default policies, of several types, are refused there for want of it. It stays, so that one sees it arrive. */
  async function lateMesh(active: boolean) {
    if (!active) return
    await resources.delete(LATE_MESH, {}).catch((error: unknown) => {
      if (!isCoreError(error, 'not_found')) throw error
    })
    await resources.apply({ type: 'Mesh', name: LATE_MESH.name }, {})
  }
}

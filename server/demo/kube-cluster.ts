import type { Clock } from '../lib/clock.ts'
import type { ServedKind } from './kube-server.ts'
import type { KubeStore, StoredObject } from './kube-store.ts'

/** What lives in a simulated cluster: nodes that renew their leases, pods that come and go. */
export interface KubeCluster {
  /** Its life until the signal aborts; told after each change. */
  run(signal: AbortSignal, onChange: () => void): Promise<void>
}

export interface KubeClusterDeps {
  readonly clock: Clock
  readonly random: () => number
  readonly store: KubeStore
}
export interface KubeClusterOptions {
  readonly name: string
  readonly nodes: number
  readonly pods: number
}

export const simulatedKinds: readonly ServedKind[] = [
  { group: '', kind: 'Node', plural: 'nodes', isNamespaced: false },
  { group: '', kind: 'Pod', plural: 'pods', isNamespaced: true },
  { group: 'coordination.k8s.io', kind: 'Lease', plural: 'leases', isNamespaced: true },
]

/** As the kubelet's. */
const LEASE_SECONDS = 40
const RENEW_EVERY_MS = 10_000
const STATUS_EVERY_MS = 300_000
const POD_LIVES_MS = 6_000
const NODE_LEASES = 'kube-node-lease'

export function createKubeCluster({ clock, random, store }: KubeClusterDeps, { name, nodes, pods }: KubeClusterOptions): KubeCluster {
  const nodeNames = Array.from({ length: nodes }, (_, index) => `${name}-node-${index + 1}`)
  const podNames = Array.from({ length: pods }, (_, index) => podName(index))
  const bornAt = timestamp(clock.now())
  let podsMade = pods
  for (const node of nodeNames) {
    reportNode(node)
    renew(node)
  }
  for (const pod of podNames) makePod(pod)

  return {
    async run(signal, onChange) {
      const every = async (ms: number, act: () => void) => {
        for (;;) {
          await clock.sleep(ms, signal)
          act()
          onChange()
        }
      }
      const lives = nodeNames.map(async (node) => {
        await clock.sleep(random() * RENEW_EVERY_MS, signal)
        await every(RENEW_EVERY_MS, () => renew(node))
      })
      await Promise.allSettled([...lives, every(STATUS_EVERY_MS, () => nodeNames.forEach(reportNode)), every(POD_LIVES_MS, replacePod)])
    },
  }

  function renew(node: string) {
    const spec = { holderIdentity: node, leaseDurationSeconds: LEASE_SECONDS, renewTime: microTime(clock.now()) }
    store.put('leases', { metadata: metadataOf(node, { namespace: NODE_LEASES, manager: 'kubelet' }), spec })
  }

  function reportNode(node: string) {
    const conditions = ['MemoryPressure', 'DiskPressure', 'Ready'].map((type) => ({
      type,
      status: type === 'Ready' ? 'True' : 'False',
      lastHeartbeatTime: timestamp(clock.now()),
      lastTransitionTime: bornAt,
      reason: type === 'Ready' ? 'KubeletReady' : `KubeletHasNo${type}`,
    }))
    store.put('nodes', { metadata: metadataOf(node, { manager: 'kubelet' }), status: { conditions } })
  }

  function replacePod() {
    const index = Math.floor(random() * podNames.length)
    store.remove('pods', `shop/${podNames[index] ?? ''}`)
    const next = podName(podsMade++)
    podNames[index] = next
    makePod(next)
  }

  function makePod(pod: string) {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: timestamp(clock.now()), observedGeneration: 1 }]
    const nodeName = nodeNames[Math.floor(random() * nodeNames.length)]
    store.put('pods', {
      metadata: { ...metadataOf(pod, { namespace: 'shop', manager: 'kubelet' }), generation: 1 },
      spec: { nodeName },
      status: { observedGeneration: 1, phase: 'Running', conditions },
    })
  }

  function podName(index: number): string {
    return `${index % 2 === 0 ? 'web' : 'cart'}-${String(index).padStart(3, '0')}`
  }

  function metadataOf(
    of: string,
    { namespace, manager }: { readonly namespace?: string; readonly manager: string },
  ): StoredObject['metadata'] {
    return {
      name: of,
      ...(namespace !== undefined && { namespace }),
      uid: `${name}-${namespace ?? 'node'}-${of}`,
      creationTimestamp: bornAt,
      managedFields: [
        {
          manager,
          operation: 'Update',
          apiVersion: 'v1',
          time: timestamp(clock.now()),
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:status': {} },
        },
      ],
    }
  }
}

const timestamp = (at: number) => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
const microTime = (at: number) => new Date(at).toISOString().replace('Z', '000Z')

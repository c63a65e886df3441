import type { OtherHeartbeat } from './watched-insight.ts'

/** Of one cluster: the leases its nodes renew, where a watcher sees them. */
export interface NodeLeases {
  heartbeat(node: string): OtherHeartbeat | undefined
  /** undefined: its lease is gone. */
  set(node: string, heartbeat: OtherHeartbeat | undefined): void
  /** Told the node. */
  onChange(listener: (node: string) => void): void
}

/** Where kubelets keep their leases, one a node, by its name. */
const NODE_LEASES = 'kube-node-lease/'

export function createNodeLeases(): NodeLeases {
  const heartbeats = new Map<string, OtherHeartbeat>()
  const listeners: ((node: string) => void)[] = []
  return {
    heartbeat: (node) => heartbeats.get(node),
    set(node, heartbeat) {
      if (heartbeat === undefined) heartbeats.delete(node)
      else heartbeats.set(node, heartbeat)
      for (const listener of listeners) listener(node)
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

/** The node whose lease this is; undefined for all other leases. */
export function nodeOfLease(name: string): string | undefined {
  return name.startsWith(NODE_LEASES) ? name.slice(NODE_LEASES.length) : undefined
}

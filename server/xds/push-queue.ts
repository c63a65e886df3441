import type { Clock } from '../lib/clock.ts'
import { yieldToEventLoop } from '../lib/clock.ts'
import type { MeshChange } from './mesh-directory.ts'
import type { XdsStream } from './stream.ts'

/**
 * Turns changes of meshes into pushes: gathers what changes within a few milliseconds, asks each stream of the mesh once
 * whether it is concerned, and sends one after the other, leaving the event loop room between slices.
 */
export interface PushQueue {
  changed(change: MeshChange): void
  enqueue(stream: XdsStream): void
  /** Drops what is gathered; nothing is sent after it. */
  stop(): void
}

/** Long enough to gather a burst of registrations, too short to be felt. */
const GATHER_MS = 5
/** Asking every stream takes at most one part in so many: the more there are, the longer changes are gathered. */
const GATHER_SHARE = 10
/** Streams served before the event loop gets its turn. */
const SLICE = 25

export function createPushQueue(clock: Pick<Clock, 'at' | 'monotonic'>, streams: () => Iterable<XdsStream>): PushQueue {
  const gathered = new Map<string, { readonly names: Set<string>; readonly services: Set<string> }>()
  const queue = new Set<XdsStream>()
  let gatherMs = GATHER_MS
  let isDraining = false
  let isStopped = false

  return {
    changed({ mesh, names, services }) {
      const known = gathered.get(mesh) ?? { names: new Set(), services: new Set() }
      for (const name of names) known.names.add(name)
      for (const service of services) known.services.add(service)
      if (gathered.size === 0) clock.at(clock.monotonic() + gatherMs, distribute)
      gathered.set(mesh, known)
    },
    enqueue,
    stop() {
      isStopped = true
      gathered.clear()
      queue.clear()
    },
  }

  function distribute() {
    if (isStopped) return
    const startedAt = clock.monotonic()
    const changes = [...gathered].map(([mesh, { names, services }]) => ({ mesh, names, services }))
    gathered.clear()
    for (const stream of streams()) {
      if (changes.some((change) => stream.isConcernedBy(change))) stream.wantsPush()
    }
    gatherMs = Math.max(GATHER_MS, GATHER_SHARE * (clock.monotonic() - startedAt))
  }

  function enqueue(stream: XdsStream) {
    queue.add(stream)
    if (isDraining) return
    isDraining = true
    void drain()
  }

  async function drain() {
    while (queue.size > 0) {
      await yieldToEventLoop()
      let served = 0
      for (const stream of queue) {
        queue.delete(stream)
        stream.push()
        if (++served === SLICE) break
      }
    }
    isDraining = false
  }
}

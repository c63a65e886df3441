import type { ResourceChange } from './resource-store.ts'

/** Fan-out of changes to readers that pull at their own pace. A reader that falls too far behind gets one `resync` for its backlog. */
export interface ChangeFeed {
  publish(changes: readonly ResourceChange[]): void
  subscribe(signal: AbortSignal): AsyncIterable<ResourceChange>
  /** Ends all readers once they have read what is there. */
  close(): void
  /** Readers that did not end: 0 when nothing is left behind. */
  readers(): number
}

const DEFAULT_BACKLOG = 100_000
/** Changes taken before their room in the backlog is given back. */
const TRIM_AFTER = 1_024

export function createChangeFeed(maxBacklog = DEFAULT_BACKLOG): ChangeFeed {
  const readers = new Set<Reader>()
  return {
    publish(changes) {
      for (const reader of readers) reader.offer(changes)
    },
    subscribe(signal) {
      const onAbort = () => reader.end({ reads: 'nothing more' })
      const reader = createReader(maxBacklog, () => {
        readers.delete(reader)
        signal.removeEventListener('abort', onAbort)
      })
      if (signal.aborted) reader.end({ reads: 'nothing more' })
      else {
        readers.add(reader)
        signal.addEventListener('abort', onAbort, { once: true })
      }
      return reader.changes()
    },
    close() {
      for (const reader of readers) reader.end({ reads: 'what is there' })
    },
    readers: () => readers.size,
  }
}

interface Reader {
  offer(changes: readonly ResourceChange[]): void
  end(rest: { readonly reads: 'nothing more' | 'what is there' }): void
  changes(): AsyncIterable<ResourceChange>
}

function createReader(maxBacklog: number, onEnd: () => void): Reader {
  let backlog: ResourceChange[] = []
  let taken = 0
  let hasEnded = false
  let wake: (() => void) | undefined

  const reader: Reader = {
    offer(changes) {
      if (backlog.length - taken + changes.length > maxBacklog) restart([{ kind: 'resync' }])
      else for (const change of changes) backlog.push(change)
      wake?.()
    },
    end({ reads }) {
      hasEnded = true
      if (reads === 'nothing more') restart([])
      onEnd()
      wake?.()
    },
    async *changes() {
      try {
        for (;;) {
          const change = backlog[taken]
          if (change !== undefined) {
            taken++
            if (taken === TRIM_AFTER) restart(backlog.slice(taken))
            yield change
          } else if (hasEnded) return
          else await new Promise<void>((resolve) => (wake = resolve))
        }
      } finally {
        reader.end({ reads: 'nothing more' })
      }
    },
  }
  return reader

  function restart(changes: ResourceChange[]) {
    backlog = changes
    taken = 0
  }
}

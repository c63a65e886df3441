import type { ResourceChange } from './resource-store.ts'

/** Fan-out of changes to readers that pull at their own pace. A reader that falls too far behind gets one `resync` for its backlog. */
export interface ChangeFeed {
  publish(changes: readonly ResourceChange[]): void
  subscribe(signal: AbortSignal): AsyncIterable<ResourceChange>
  /** Ends all readers. */
  close(): void
  readers(): number
}

export const DEFAULT_BACKLOG = 100_000

export function createChangeFeed(maxBacklog = DEFAULT_BACKLOG): ChangeFeed {
  const readers = new Set<Reader>()
  return {
    publish(changes) {
      for (const reader of readers) reader.offer(changes)
    },
    subscribe(signal) {
      const reader = createReader(maxBacklog, () => readers.delete(reader))
      if (signal.aborted) reader.end()
      else readers.add(reader)
      const onAbort = () => reader.end()
      signal.addEventListener('abort', onAbort, { once: true })
      return reader.iterable(() => signal.removeEventListener('abort', onAbort))
    },
    close() {
      for (const reader of readers) reader.end()
    },
    readers: () => readers.size,
  }
}

interface Reader {
  offer(changes: readonly ResourceChange[]): void
  end(): void
  iterable(release: () => void): AsyncIterable<ResourceChange>
}

function createReader(maxBacklog: number, forget: () => void): Reader {
  let backlog: ResourceChange[] = []
  let taken = 0
  let isOver = false
  let wake: (() => void) | undefined

  const end = () => {
    isOver = true
    forget()
    wake?.()
  }
  return {
    end,
    offer(changes) {
      if (backlog.length - taken + changes.length > maxBacklog) {
        backlog = [{ kind: 'resync' }]
        taken = 0
      } else {
        for (const change of changes) backlog.push(change)
      }
      wake?.()
    },
    async *iterable(release) {
      try {
        while (!isOver) {
          const change = backlog[taken]
          if (change === undefined) {
            backlog = []
            taken = 0
            await new Promise<void>((resolve) => (wake = resolve))
            wake = undefined
          } else {
            taken++
            yield change
          }
        }
      } finally {
        release()
        end()
      }
    },
  }
}

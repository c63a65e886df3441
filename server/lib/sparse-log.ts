import type { Clock } from './clock.ts'

/**
 * For lines that a peer can cause by the thousand. The first of a kind is written at once, then one per interval that says how
 * many there were in it; after a quiet interval the next is a first again.
 */
export interface SparseLog {
  /** `write` is called now with 1, or for the newest of the interval with how many it stands for. */
  note(kind: string, write: (count: number) => void): void
  /** What was not written yet is written now. */
  stop(): void
}

interface Held {
  count: number
  write: (count: number) => void
  readonly timer: { cancel(): void }
}

export const SPARSE_LOG_INTERVAL_MS = 10_000

export function createSparseLog(clock: Pick<Clock, 'monotonic' | 'at'>): SparseLog {
  const kinds = new Map<string, Held>()

  return {
    note(kind, write) {
      const held = kinds.get(kind)
      if (held === undefined) {
        open(kind, write)
        return write(1)
      }
      held.count++
      held.write = write
    },
    stop() {
      for (const [kind, held] of kinds) {
        held.timer.cancel()
        kinds.delete(kind)
        if (held.count > 0) held.write(held.count)
      }
    },
  }

  function open(kind: string, write: Held['write']) {
    const timer = clock.at(clock.monotonic() + SPARSE_LOG_INTERVAL_MS, () => {
      const { count, write: newest } = kinds.get(kind)!
      kinds.delete(kind)
      if (count === 0) return
      open(kind, newest)
      newest(count)
    })
    kinds.set(kind, { count: 0, write, timer })
  }
}

import type { Clock } from '../lib/clock.ts'
import { createTopic } from '../lib/topic.ts'
import { type KeyString, type LostTo, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ConflictCell, ConflictPoint, WriteRecord } from '../model/views.ts'

/**
 * Counts conflicts when their story ends: benign if the write was made later (by a retry or at the next tick), harmful if it
 * was given up or cost a stream. Keeps the last writes of each insight. The one place that knows who lost to whom.
 */
export interface ConflictLedger {
  /** A write of this resource was stored. Settles open conflicts of the same writer as benign. */
  written(record: {
    readonly key: ResourceKey
    readonly writer: string
    readonly instance: string
    readonly version: string
    readonly at: number
  }): void
  /** A write was refused; its story stays open until `written` or `gaveUp` by the same writer. */
  lost(record: {
    readonly key: ResourceKey
    readonly writer: string
    readonly instance: string
    readonly lostTo: LostTo | undefined
    readonly at: number
  }): void
  /** The writer will not write this any more: open conflicts become harmful. `reason` says what it cost. */
  gaveUp(record: { readonly key: ResourceKey; readonly writer: string; readonly at: number }): void
  /** The resource no longer exists or what is stored already says what was to be written: open conflicts of the writer become benign. */
  settled(record: { readonly key: ResourceKey; readonly writer: string; readonly at: number }): void
  /** It was deleted: its history goes, its open conflicts become benign. */
  forget(key: ResourceKey): void
  /** Settled conflicts by writer, winner and type: of the last `sinceMs` (to 10 s, at most a day), else since the start. */
  matrix(sinceMs?: number): readonly ConflictCell[]
  /** The last ten minutes in steps of 10 s, oldest first, the one under way last. */
  recent(): readonly ConflictPoint[]
  of(key: ResourceKey): { readonly benign: number; readonly harmful: number; readonly writes: readonly WriteRecord[] }
  /** The counts alone: asked for every row. */
  countsOf(key: ResourceKey): { readonly benign: number; readonly harmful: number }
  /** Resources with a past, and conflicts whose story is open, for the debug snapshot. */
  sizes(): { readonly pasts: number; readonly stories: number }
  /** Called with the key whenever conflicts of it were settled. */
  readonly onSettled: (listener: (key: ResourceKey) => void, signal: AbortSignal) => void
}

export interface ConflictLedgerDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** For `tidewatch_store_conflicts_total`: one conflict was settled. */
  readonly onSettledMetric?: (conflict: SettledConflict) => void
}
export interface SettledConflict {
  readonly writer: string
  /** `unknown` where the store could not tell. */
  readonly lostTo: string
  readonly type: string
  readonly severity: 'benign' | 'harmful'
}

const BUCKET_MS = 10_000
const BUCKETS_KEPT = 86_400_000 / BUCKET_MS
const RECENT_BUCKETS = 60
/** Writes kept per insight, and in all: with many insights each keeps fewer, but at least the last few. */
const WRITES_PER_KEY = 40
const FEWEST_WRITES_PER_KEY = 4
const WRITES_IN_ALL = 200_000
/** A writer that loses and is never heard of again has given up: beyond this many the oldest stories are ended as harmful. */
const OPEN_STORIES = 50_000

/** The conflicts a writer met since it last wrote one resource. */
interface Story {
  readonly key: ResourceKey
  readonly writer: string
  readonly lostTo: string[]
}
type Cells = Map<string, { -readonly [field in keyof ConflictCell]: ConflictCell[field] }>
interface Past {
  benign: number
  harmful: number
  writes: WriteRecord[]
}

const NO_CONFLICTS = { benign: 0, harmful: 0 }

export function createConflictLedger({ clock, onSettledMetric }: ConflictLedgerDeps): ConflictLedger {
  /** By resource and writer, oldest first. */
  const stories = new Map<string, Story>()
  const pasts = new Map<KeyString, Past>()
  const total: Cells = new Map()
  /** By number of the bucket, oldest first; only those in which something was settled. Counted on monotonic time: the wall clock may jump. */
  const buckets = new Map<number, Cells>()
  const settledTopic = createTopic<ResourceKey>()

  return {
    written({ key, writer, instance, version, at }) {
      remember(key, { at, writer, instance, version, outcome: 'written' })
      settle(storyId(key, writer), 'benign', true)
    },
    lost({ key, writer, instance, lostTo, at }) {
      remember(key, { at, writer, instance, version: '', outcome: 'conflict', ...(lostTo === undefined ? {} : { lostTo }) })
      const id = storyId(key, writer)
      const story = stories.get(id)
      if (story === undefined) stories.set(id, { key, writer, lostTo: [lostTo?.writer ?? 'unknown'] })
      else story.lostTo.push(lostTo?.writer ?? 'unknown')
      if (stories.size > OPEN_STORIES) for (const oldest of stories.keys()) return settle(oldest, 'harmful', false)
    },
    gaveUp: ({ key, writer }) => settle(storyId(key, writer), 'harmful', false),
    settled: ({ key, writer }) => settle(storyId(key, writer), 'benign', false),
    forget(key) {
      const prefix = `${toKeyString(key)}\0`
      for (const id of stories.keys()) if (id.startsWith(prefix)) settle(id, 'benign', false)
      pasts.delete(toKeyString(key))
    },
    sizes: () => ({ pasts: pasts.size, stories: stories.size }),
    matrix(sinceMs) {
      if (sinceMs === undefined) return toMatrix([total])
      const oldest = bucketNow() - Math.ceil(sinceMs / BUCKET_MS)
      return toMatrix([...buckets].filter(([bucket]) => bucket > oldest).map(([, cells]) => cells))
    },
    recent() {
      const newest = bucketNow()
      const startOfNewest = clock.now() - (clock.monotonic() - newest * BUCKET_MS)
      return Array.from({ length: RECENT_BUCKETS }, (_, index) => {
        const back = RECENT_BUCKETS - 1 - index
        const cells = [...(buckets.get(newest - back)?.values() ?? [])]
        return {
          at: Math.round(startOfNewest - back * BUCKET_MS),
          benign: cells.reduce((sum, cell) => sum + cell.benign, 0),
          harmful: cells.reduce((sum, cell) => sum + cell.harmful, 0),
        }
      })
    },
    of(key) {
      const { benign, harmful, writes } = pasts.get(toKeyString(key)) ?? { benign: 0, harmful: 0, writes: [] }
      return { benign, harmful, writes: [...writes] }
    },
    countsOf(key) {
      const { benign, harmful } = pasts.get(toKeyString(key)) ?? NO_CONFLICTS
      return { benign, harmful }
    },
    onSettled: (listener, signal) => settledTopic.subscribe(listener, signal),
  }

  function bucketNow(): number {
    return Math.floor(clock.monotonic() / BUCKET_MS)
  }

  function settle(id: string, severity: SettledConflict['severity'], isWritten: boolean): void {
    const story = stories.get(id)
    if (story === undefined) return
    stories.delete(id)
    const { key, writer } = story
    const cellsNow = bucketCells()
    for (const [index, lostTo] of story.lostTo.entries()) {
      // The attempt that worked belongs to the last one that did not.
      const attempts = isWritten && index === story.lostTo.length - 1 ? 2 : 1
      for (const cells of [total, cellsNow]) {
        const cell = cellOf(cells, { writer, lostTo, type: key.type })
        cell[severity]++
        cell.attempts += attempts
      }
      onSettledMetric?.({ writer, lostTo, type: key.type, severity })
    }
    pastOf(key)[severity] += story.lostTo.length
    settledTopic.publish(key)
  }

  function bucketCells(): Cells {
    const bucket = bucketNow()
    const present = buckets.get(bucket)
    if (present !== undefined) return present
    const cells: Cells = new Map()
    buckets.set(bucket, cells)
    for (const old of buckets.keys()) {
      if (old > bucket - BUCKETS_KEPT) break
      buckets.delete(old)
    }
    return cells
  }

  function pastOf(key: ResourceKey): Past {
    const id = toKeyString(key)
    const known = pasts.get(id)
    if (known !== undefined) return known
    const past: Past = { benign: 0, harmful: 0, writes: [] }
    pasts.set(id, past)
    return past
  }

  function remember(key: ResourceKey, record: WriteRecord): void {
    const { writes } = pastOf(key)
    writes.push(record)
    const room = Math.min(WRITES_PER_KEY, Math.max(FEWEST_WRITES_PER_KEY, Math.floor(WRITES_IN_ALL / pasts.size)))
    if (writes.length > room) writes.splice(0, writes.length - room)
  }
}

function storyId(key: ResourceKey, writer: string): string {
  return `${toKeyString(key)}\0${writer}`
}

function cellOf(cells: Cells, { writer, lostTo, type }: Pick<ConflictCell, 'writer' | 'lostTo' | 'type'>) {
  const id = `${writer}\0${lostTo}\0${type}`
  const known = cells.get(id)
  if (known !== undefined) return known
  const cell = { writer, lostTo, type, benign: 0, harmful: 0, attempts: 0 }
  cells.set(id, cell)
  return cell
}

/** Most conflicts first. */
function toMatrix(parts: readonly Cells[]): readonly ConflictCell[] {
  const sums: Cells = new Map()
  for (const cell of parts.flatMap((cells) => [...cells.values()])) {
    const sum = cellOf(sums, cell)
    sum.benign += cell.benign
    sum.harmful += cell.harmful
    sum.attempts += cell.attempts
  }
  return [...sums.values()].toSorted((a, b) => b.harmful + b.benign - (a.harmful + a.benign))
}

import type { Clock } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import { type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ListQuery, Page, ReadOptions, ResourceChange, ResourceStore } from './resource-store.ts'

/**
 * Reads that may be up to a TTL old. One load per key at a time; whoever asks meanwhile waits for it. Local writes invalidate
 * before their caller goes on (use `invalidatingStore`), writes of others through the change feed; a load that began before
 * an invalidation is not kept. A failed load is not kept and fails only those who waited for it; that something is not there
 * is an answer like any other and is kept. Ages are monotonic. What it hands out is the store's frozen values.
 */
export interface ReadCache extends Pick<ResourceStore, 'get' | 'list'> {
  /** Forgets what is known of this resource, lists of its type included. */
  invalidate(key: ResourceKey): void
  invalidateAll(): void
  /** Follows the change feed until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Loads under way and entries kept, for the debug snapshot. */
  size(): { readonly loading: number; readonly kept: number }
}

export type CacheResult = 'hit' | 'hit_wait' | 'miss'

export interface ReadCacheDeps {
  readonly store: Pick<ResourceStore, 'get' | 'list' | 'changes'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly ttlMs: Tunable<number>
  readonly onRequest?: (request: { readonly operation: 'get' | 'list'; readonly type: string; readonly result: CacheResult }) => void
  /** Entries kept at most; the oldest go first. Default 10,000. */
  readonly maxEntries?: number
}

interface Entry {
  readonly outcome: Outcome
  readonly loadedAt: number
  readonly type: string
}
type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: CoreError }
interface Load {
  readonly outcome: Promise<Outcome>
  readonly type: string
  isOutdated: boolean
}
interface Question {
  readonly operation: 'get' | 'list'
  readonly type: string
  readonly id: string
  readonly ask: () => Promise<unknown>
}

const DEFAULT_MAX_ENTRIES = 10_000

export function createReadCache({ store, clock, ttlMs, onRequest, maxEntries = DEFAULT_MAX_ENTRIES }: ReadCacheDeps): ReadCache {
  const entries = new Map<string, Entry>()
  const loads = new Map<string, Load>()
  /** Ids of the lists kept, by type: what a write of that type makes out of date. */
  const lists = new Map<string, Set<string>>()

  return {
    get: <S>(key: ResourceKey, options: ReadOptions = {}) =>
      read({ operation: 'get', type: key.type, id: getId(key), ask: () => store.get(key) }, options) as Promise<Resource<S>>,
    list: <S>(query: ListQuery, options: ReadOptions = {}) =>
      read({ operation: 'list', type: query.type, id: listId(query), ask: () => store.list(query) }, options) as Promise<Page<Resource<S>>>,
    invalidate,
    invalidateAll() {
      entries.clear()
      for (const load of loads.values()) load.isOutdated = true
    },
    async run(signal) {
      for await (const change of store.changes(signal)) follow(change)
    },
    size: () => ({ loading: loads.size, kept: entries.size }),
  }

  function follow(change: ResourceChange) {
    if (change.kind === 'put') invalidate(change.resource.key)
    else if (change.kind === 'deleted') invalidate(change.key)
    else {
      entries.clear()
      for (const load of loads.values()) load.isOutdated = true
    }
  }

  function invalidate(key: ResourceKey) {
    const id = getId(key)
    entries.delete(id)
    for (const listed of lists.get(key.type) ?? []) entries.delete(listed)
    lists.delete(key.type)
    for (const [other, load] of loads) if (other === id || (load.type === key.type && other.startsWith(LIST))) load.isOutdated = true
  }

  async function read(question: Question, { signal }: ReadOptions): Promise<unknown> {
    if (signal?.aborted) throw aborted(signal)
    const kept = entries.get(question.id)
    if (kept !== undefined && clock.monotonic() - kept.loadedAt < ttlMs.get()) {
      count(question, 'hit')
      return open(kept.outcome)
    }
    const underWay = loads.get(question.id)
    // A load that began before a write is of no use to one who asks after it.
    const joins = underWay !== undefined && !underWay.isOutdated
    count(question, joins ? 'hit_wait' : 'miss')
    return open(await unlessAborted((joins ? underWay : load(question)).outcome, signal))
  }

  function load({ id, type, ask }: Question): Load {
    const loading: Load = { type, isOutdated: false, outcome: ask().then((value): Outcome => ({ ok: true, value }), toOutcome) }
    loads.set(id, loading)
    const settle = (outcome?: Outcome) => {
      if (loads.get(id) !== loading) return
      loads.delete(id)
      if (outcome !== undefined && !loading.isOutdated) keep(id, { outcome, type, loadedAt: clock.monotonic() })
    }
    loading.outcome.then(settle, () => settle())
    return loading
  }

  function keep(id: string, entry: Entry) {
    entries.delete(id)
    entries.set(id, entry)
    if (id.startsWith(LIST)) lists.set(entry.type, (lists.get(entry.type) ?? new Set()).add(id))
    if (entries.size > maxEntries) entries.delete(entries.keys().next().value!)
  }

  function count({ operation, type }: Question, result: CacheResult) {
    onRequest?.({ operation, type, result })
  }
}

/** The store, with the cache told of each write before the writer goes on. */
export function invalidatingStore(store: ResourceStore, cache: Pick<ReadCache, 'invalidate'>): ResourceStore {
  return {
    ...store,
    async create(draft, options) {
      return store.create(draft, options).finally(() => cache.invalidate(draft.key))
    },
    async update(resource, options) {
      return store.update(resource, options).finally(() => cache.invalidate(resource.key))
    },
    async delete(key, options) {
      return store.delete(key, options).finally(() => cache.invalidate(key))
    },
    async writeBatch(writes, options) {
      return store.writeBatch(writes, options).finally(() => {
        for (const write of writes)
          cache.invalidate(write.kind === 'create' ? write.draft.key : write.kind === 'update' ? write.resource.key : write.key)
      })
    },
  }
}

const LIST = 'list\0'

function getId(key: ResourceKey): string {
  return `get\0${toKeyString(key)}`
}

function listId({ type, mesh, labels, keys, limit, cursor }: ListQuery): string {
  return LIST + JSON.stringify([type, mesh, Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)), keys, limit, cursor])
}

/** That something is not there is worth keeping; any other failure is for those who waited alone. */
function toOutcome(error: unknown): Outcome {
  if (isCoreError(error, 'not_found')) return { ok: false, error }
  throw error
}

function open(outcome: Outcome): unknown {
  if (outcome.ok) return outcome.value
  throw outcome.error
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(aborted(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function aborted(signal: AbortSignal): CoreError {
  return new CoreError('aborted', 'the caller ended it', { cause: signal.reason })
}

import type { Clock } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import { type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ListQuery, Page, ReadOptions, ResourceChange, ResourceStore } from './resource-store.ts'
import { keyOfWrite } from './store-rules.ts'

/**
 * Reads that are at most a TTL old, counted from when they were asked for. One load per question at a time; whoever asks
 * meanwhile waits for it. Local writes invalidate before their caller goes on (use `invalidatingStore`), writes of others
 * through the change feed; a load that began before an invalidation is not kept. A failed load is not kept and fails only
 * those who waited for it; that something is not there is an answer like any other and is kept. Ages are monotonic. What it
 * hands out is the store's frozen values.
 */
export interface ReadCache extends Pick<ResourceStore, 'get' | 'list'> {
  /** Forgets what is known of this resource, lists of its type included. */
  invalidate(key: ResourceKey): void
  invalidateAll(): void
  /** Follows the change feed until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Loads under way, entries kept, and lists among both, for the debug snapshot. */
  size(): { readonly loading: number; readonly kept: number; readonly lists: number }
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

type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: CoreError }
interface Entry {
  readonly outcome: Outcome
  readonly askedAt: number
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
  /** A load leaves when it ends or is out of date, whichever comes first. */
  const loads = new Map<string, Promise<Outcome>>()
  /** Ids of lists kept or loading, by type: what a write of that type makes out of date. */
  const lists = new Map<string, Set<string>>()

  return {
    get: <S>(key: ResourceKey, options: ReadOptions = {}) =>
      read({ operation: 'get', type: key.type, id: getId(key), ask: () => store.get(key) }, options) as Promise<Resource<S>>,
    list: <S>(query: ListQuery, options: ReadOptions = {}) =>
      read({ operation: 'list', type: query.type, id: listId(query), ask: () => store.list(query) }, options) as Promise<Page<Resource<S>>>,
    invalidate,
    invalidateAll,
    async run(signal) {
      for await (const change of store.changes(signal)) follow(change)
    },
    size: () => ({
      loading: loads.size,
      kept: entries.size,
      lists: lists.values().reduce((sum, ids) => sum + ids.size, 0),
    }),
  }

  function follow(change: ResourceChange) {
    switch (change.kind) {
      case 'put':
        return invalidate(change.resource.key)
      case 'deleted':
        return invalidate(change.key)
      case 'resync':
        return invalidateAll()
    }
  }

  function invalidate(key: ResourceKey) {
    forget(getId(key))
    for (const id of lists.get(key.type) ?? []) forget(id)
    lists.delete(key.type)
  }

  function invalidateAll() {
    entries.clear()
    loads.clear()
    lists.clear()
  }

  /** Whoever waits for a load that is forgotten still gets its answer; whoever asks from now on does not. */
  function forget(id: string) {
    entries.delete(id)
    loads.delete(id)
  }

  async function read(question: Question, { signal }: ReadOptions): Promise<unknown> {
    if (signal?.aborted) throw aborted(signal)
    const kept = entries.get(question.id)
    if (kept !== undefined && clock.monotonic() - kept.askedAt < ttlMs.get()) {
      count(question, 'hit')
      return open(kept.outcome)
    }
    const underWay = loads.get(question.id)
    count(question, underWay === undefined ? 'miss' : 'hit_wait')
    return open(await unlessAborted(underWay ?? load(question), signal))
  }

  function load(question: Question): Promise<Outcome> {
    const { id, operation, type, ask } = question
    const askedAt = clock.monotonic()
    const loading = ask().then((value): Outcome => ({ ok: true, value }), toOutcome)
    loads.set(id, loading)
    if (operation === 'list') lists.set(type, (lists.get(type) ?? new Set()).add(id))
    const end = (outcome?: Outcome) => {
      if (loads.get(id) !== loading) return
      loads.delete(id)
      if (outcome !== undefined) keep(question, { outcome, askedAt })
      else if (!entries.has(id)) unlist(id)
    }
    loading.then(end, () => end())
    return loading
  }

  function keep({ id }: Question, entry: Entry) {
    entries.delete(id)
    entries.set(id, entry)
    if (entries.size <= maxEntries) return
    for (const oldest of entries.keys()) {
      entries.delete(oldest)
      if (!loads.has(oldest)) unlist(oldest)
      return
    }
  }

  function unlist(id: string) {
    for (const [type, ids] of lists) {
      if (!ids.delete(id)) continue
      if (ids.size === 0) lists.delete(type)
      return
    }
  }

  function count({ operation, type }: Question, result: CacheResult) {
    onRequest?.({ operation, type, result })
  }
}

/** The store, with the cache told of each write before the writer goes on. A delete may take others with it, so after one nothing is kept. */
export function invalidatingStore(store: ResourceStore, cache: Pick<ReadCache, 'invalidate' | 'invalidateAll'>): ResourceStore {
  return {
    ...store,
    create: (draft, options) => store.create(draft, options).finally(() => cache.invalidate(draft.key)),
    update: (resource, options) => store.update(resource, options).finally(() => cache.invalidate(resource.key)),
    delete: (key, options) => store.delete(key, options).finally(() => cache.invalidateAll()),
    writeBatch: (writes, options) =>
      store.writeBatch(writes, options).finally(() => {
        if (writes.some(({ kind }) => kind === 'delete')) cache.invalidateAll()
        else for (const write of writes) cache.invalidate(keyOfWrite(write))
      }),
  }
}

function getId(key: ResourceKey): string {
  return `get\0${toKeyString(key)}`
}

function listId({ type, mesh, labels, keys, limit, cursor }: ListQuery): string {
  const parts = [type, mesh, Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)), keys?.map(toKeyString), limit, cursor]
  return `list\0${JSON.stringify(parts.map((part) => part ?? null))}`
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

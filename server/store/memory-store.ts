import type { Clock } from '../lib/clock.ts'
import { CoreError, toCoreError } from '../lib/errors.ts'
import type { Kinds } from '../model/kind.ts'
import { type KeyString, type Resource, type ResourceDraft, type ResourceKey, toKeyString, type Version } from '../model/resource.ts'
import { createChangeFeed } from './change-feed.ts'
import { toStoredValue } from './json-value.ts'
import type {
  ListQuery,
  Page,
  ReadOptions,
  ResourceChange,
  ResourceStore,
  StoreHealth,
  Write,
  WriteOptions,
  WriteResult,
} from './resource-store.ts'
import {
  checkKey,
  checkOpen,
  comparePositions,
  fromCursor,
  hasLabels,
  keyOfWrite,
  kindOf,
  limitOf,
  lostToOf,
  ownerOf,
  plainKey,
  refusal,
  toPage,
  wantedKeys,
} from './store-rules.ts'

export interface MemoryStoreDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly kinds: Kinds
  /** Named as the instance of every writer. */
  readonly instance: string
  /** Changes a slow reader may have unread before it is told to resync. */
  readonly maxBacklog?: number
}

/** Everything in memory: for trials and tests. Gone with the process. */
export function createMemoryStore({ clock, kinds, instance, maxBacklog }: MemoryStoreDeps): ResourceStore & StoreHealth {
  const resources = new Map<KeyString, Resource>()
  const owned = new Map<KeyString, Set<KeyString>>()
  /** Keys of each type in list order; gone when one came or went, made again by the next list. */
  const ordered = new Map<string, readonly ResourceKey[]>()
  const feed = createChangeFeed(maxBacklog)
  let sequence = 0
  let isClosed = false

  return {
    async get<S>(key: ResourceKey, options: ReadOptions = {}) {
      checkOpen(isClosed, options)
      checkKey(kinds, key)
      const found = resources.get(toKeyString(key))
      if (found === undefined) throw refusal.notFound(key)
      return found as Resource<S>
    },
    async list<S>(query: ListQuery, options: ReadOptions = {}) {
      checkOpen(isClosed, options)
      return list<S>(query)
    },
    async create<S>(draft: ResourceDraft<S>, options: WriteOptions) {
      return one({ kind: 'create', draft }, options) as Resource<S>
    },
    async update<S>(resource: Resource<S>, options: WriteOptions) {
      return one({ kind: 'update', resource }, options) as Resource<S>
    },
    async delete(key, { expectedVersion, ...options }) {
      one({ kind: 'delete', key, ...(expectedVersion !== undefined && { expectedVersion }) }, options)
    },
    writeBatch: async (writes, options) => writeBatch(writes, options),
    changes(signal) {
      checkOpen(isClosed, {})
      return feed.subscribe(signal)
    },
    problem: () => null,
    slow: () => null,
    async close() {
      isClosed = true
      feed.close()
    },
  }

  function one(write: Write, options: WriteOptions): Resource | undefined {
    const [result] = writeBatch([write], options)
    if (result === undefined) throw new CoreError('internal', 'a write was not answered')
    if (!result.ok) throw result.error
    return result.resource
  }

  function writeBatch(writes: readonly Write[], options: WriteOptions & { readonly atomic?: boolean }): readonly WriteResult[] {
    checkOpen(isClosed, options)
    const undo: (() => void)[] = []
    const changes: ResourceChange[] = []
    const results = writes.map((write) => tryApply(write))
    if (options.atomic === true && results.some(({ ok }) => !ok)) {
      for (const step of undo.toReversed()) step()
      return results.map((result, index) =>
        result.ok ? { ok: false, error: refusal.notInAtomicBatch(keyOfWrite(writes[index]!)) } : result,
      )
    }
    feed.publish(changes)
    return results

    function tryApply(write: Write): WriteResult {
      try {
        const resource = apply(write)
        return resource === undefined ? { ok: true } : { ok: true, resource }
      } catch (error) {
        return { ok: false, error: toCoreError(error) }
      }
    }

    function apply(write: Write): Resource | undefined {
      switch (write.kind) {
        case 'create':
          return put(created(write.draft))
        case 'update':
          return put(updated(write.resource))
        case 'delete':
          remove(write.key, write.expectedVersion)
          return undefined
      }
    }

    function created(draft: ResourceDraft): Resource {
      checkKey(kinds, draft.key)
      const inTheWay = resources.get(toKeyString(draft.key))
      if (inTheWay !== undefined) throw refusal.alreadyExists(draft.key, lostToOf(inTheWay))
      const owner = ownerOf(kinds, draft)
      if (owner !== undefined && !resources.has(toKeyString(owner))) throw refusal.ownerMissing(draft.key, owner)
      const content = contentOf(draft)
      const now = clock.now()
      return { key: plainKey(draft.key), ...content, ...(owner !== undefined && { owner }), ...stamp(), createdAt: now, modifiedAt: now }
    }

    function updated(next: Resource): Resource {
      checkKey(kinds, next.key)
      const present = resources.get(toKeyString(next.key))
      if (present === undefined) throw refusal.notFound(next.key)
      if (present.version !== next.version) throw refusal.conflict(next.key, lostToOf(present))
      const content = contentOf(next)
      const { status: _dropped, ...kept } = present
      return { ...kept, ...content, ...stamp(), modifiedAt: clock.now() }
    }

    function stamp() {
      return { version: String(++sequence) as Version, writer: Object.freeze({ name: options.writer, instance }) }
    }

    function put(resource: Resource): Resource {
      const id = toKeyString(resource.key)
      const before = resources.get(id)
      const stored = Object.freeze(resource)
      resources.set(id, stored)
      if (before === undefined) adopt(stored)
      undo.push(() => {
        if (before === undefined) forget(stored)
        else resources.set(id, before)
      })
      changes.push({ kind: 'put', resource: stored })
      return stored
    }

    function remove(key: ResourceKey, expectedVersion: Version | undefined) {
      checkKey(kinds, key)
      const present = resources.get(toKeyString(key))
      if (present === undefined) throw refusal.notFound(key)
      if (expectedVersion !== undefined && present.version !== expectedVersion) throw refusal.conflict(key, lostToOf(present))
      cascade(present)
    }

    function cascade(resource: Resource) {
      const id = toKeyString(resource.key)
      for (const child of owned.get(id) ?? []) cascade(resources.get(child)!)
      forget(resource)
      undo.push(() => {
        resources.set(id, resource)
        adopt(resource)
      })
      changes.push({ kind: 'deleted', key: resource.key, version: resource.version })
    }
  }

  function adopt({ key, owner }: Resource) {
    ordered.delete(key.type)
    if (owner === undefined) return
    const ownerId = toKeyString(owner)
    const children = owned.get(ownerId) ?? new Set()
    owned.set(ownerId, children.add(toKeyString(key)))
  }

  function forget({ key, owner }: Resource) {
    const id = toKeyString(key)
    resources.delete(id)
    ordered.delete(key.type)
    if (owner === undefined) return
    const ownerId = toKeyString(owner)
    const children = owned.get(ownerId)
    children?.delete(id)
    if (children?.size === 0) owned.delete(ownerId)
  }

  function list<S>(query: ListQuery): Page<Resource<S>> {
    kindOf(kinds, query.type)
    const limit = limitOf(query)
    const found: Resource[] = []
    for (const key of query.keys === undefined ? keysFrom(query) : wantedKeys({ ...query, keys: query.keys })) {
      const resource = resources.get(toKeyString(key))
      if (resource === undefined || !hasLabels(resource, query.labels)) continue
      found.push(resource)
      if (found.length > limit) break
    }
    return toPage(found, limit)
  }

  function* keysFrom({ type, mesh, cursor }: ListQuery): Iterable<ResourceKey> {
    const keys = orderedKeys(type)
    const after = cursor === undefined ? undefined : fromCursor(cursor)
    for (let index = after === undefined ? 0 : firstAfter(keys, after); index < keys.length; index++) {
      if (mesh === undefined || keys[index]!.mesh === mesh) yield keys[index]!
    }
  }

  function orderedKeys(type: string): readonly ResourceKey[] {
    const known = ordered.get(type)
    if (known !== undefined) return known
    const keys = [...resources.values()].flatMap(({ key }) => (key.type === type ? [key] : [])).sort(comparePositions)
    ordered.set(type, keys)
    return keys
  }
}

function contentOf({ labels, spec, status }: Pick<ResourceDraft, 'labels' | 'spec' | 'status'>) {
  return {
    labels: toStoredValue(labels ?? {}, 'labels').value as Readonly<Record<string, string>>,
    spec: toStoredValue(spec, 'spec').value,
    ...(status !== undefined && { status: toStoredValue(status, 'status').value }),
  }
}

/** Where the first key after a position is, in a sorted list. */
function firstAfter(keys: readonly ResourceKey[], position: Pick<ResourceKey, 'mesh' | 'name'>): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparePositions(keys[middle]!, position) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

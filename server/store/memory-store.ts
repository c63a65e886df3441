import { CoreError, isCoreError, toCoreError } from '../lib/errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Kinds } from '../model/kind.ts'
import { type KeyString, type Resource, type ResourceDraft, type ResourceKey, toKeyString, type Version } from '../model/resource.ts'
import { createChangeFeed } from './change-feed.ts'
import { deepFreeze, frozenCopy } from './freeze.ts'
import type { ListQuery, Page, ResourceChange, ResourceStore, Write, WriteOptions, WriteResult } from './resource-store.ts'
import { checkKey, comparePositions, fromCursor, keyOfWrite, kindOf, limitOf, lostToOf, refusal, toCursor } from './store-rules.ts'

export interface MemoryStoreDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly kinds: Kinds
  /** Named as the instance of every writer. */
  readonly instance: string
  /** Changes a slow reader may have unread before it is told to resync. */
  readonly maxBacklog?: number
}

/** Everything in memory: for trials and tests. Gone with the process. */
export function createMemoryStore({ clock, kinds, instance, maxBacklog }: MemoryStoreDeps): ResourceStore {
  const resources = new Map<KeyString, Resource>()
  const owned = new Map<KeyString, Set<KeyString>>()
  const feed = createChangeFeed(maxBacklog)
  let sequence = 0
  let isClosed = false

  return {
    async get<S>(key: ResourceKey, options: { readonly signal?: AbortSignal } = {}) {
      checkOpen(options.signal)
      checkKey(kinds, key)
      const found = resources.get(toKeyString(key))
      if (found === undefined) throw refusal.notFound(key)
      return found as Resource<S>
    },
    async list<S>(query: ListQuery, options: { readonly signal?: AbortSignal } = {}) {
      checkOpen(options.signal)
      return list<S>(query)
    },
    async create<S>(draft: ResourceDraft<S>, options: WriteOptions) {
      return (await one({ kind: 'create', draft }, options)) as Resource<S>
    },
    async update<S>(resource: Resource<S>, options: WriteOptions) {
      return (await one({ kind: 'update', resource }, options)) as Resource<S>
    },
    async delete(key, { expectedVersion, ...options }) {
      await one({ kind: 'delete', key, ...(expectedVersion !== undefined && { expectedVersion }) }, options)
    },
    writeBatch,
    changes(signal) {
      checkOpen(undefined)
      return feed.subscribe(signal)
    },
    async close() {
      isClosed = true
      feed.close()
    },
  }

  function checkOpen(signal: AbortSignal | undefined) {
    if (isClosed) throw refusal.closed()
    if (signal?.aborted) throw new CoreError('aborted', 'the caller ended it', { cause: signal.reason })
  }

  async function one(write: Write, options: WriteOptions): Promise<Resource | undefined> {
    const [result] = await writeBatch([write], options)
    if (result === undefined) throw new CoreError('internal', 'a write was not answered')
    if (!result.ok) throw result.error
    return result.resource
  }

  async function writeBatch(
    writes: readonly Write[],
    options: WriteOptions & { readonly atomic?: boolean },
  ): Promise<readonly WriteResult[]> {
    checkOpen(options.signal)
    const undo: (() => void)[] = []
    const changes: ResourceChange[] = []
    const results = writes.map((write) => tryApply(write))
    const failed = results.some(({ ok }) => !ok)
    if (options.atomic === true && failed) {
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
        if (!isCoreError(error)) throw error
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
      const kind = checkKey(kinds, draft.key)
      if (resources.has(toKeyString(draft.key))) throw refusal.alreadyExists(draft.key)
      const owner = draft.owner ?? kind.ownerOf?.(draft.key)
      if (owner !== undefined && !resources.has(toKeyString(owner))) throw refusal.ownerMissing(draft.key, owner)
      const now = clock.now()
      return {
        key: draft.key,
        labels: draft.labels ?? {},
        spec: draft.spec,
        ...(draft.status !== undefined && { status: draft.status }),
        ...(owner !== undefined && { owner }),
        ...stamp(),
        createdAt: now,
        modifiedAt: now,
      }
    }

    function updated(next: Resource): Resource {
      checkKey(kinds, next.key)
      const present = resources.get(toKeyString(next.key))
      if (present === undefined) throw refusal.notFound(next.key)
      if (present.version !== next.version) throw refusal.conflict(next.key, lostToOf(present))
      const { status: _dropped, ...kept } = present
      return {
        ...kept,
        labels: next.labels,
        spec: next.spec,
        ...(next.status !== undefined && { status: next.status }),
        ...stamp(),
        modifiedAt: clock.now(),
      }
    }

    function stamp() {
      return { version: String(++sequence) as Version, writer: { name: options.writer, instance } }
    }

    function put(resource: Resource): Resource {
      const id = toKeyString(resource.key)
      const before = resources.get(id)
      // A copy, so that nothing the caller still holds can change what is stored.
      const stored = deepFreeze({
        ...resource,
        key: { ...resource.key },
        labels: frozenCopy(resource.labels),
        spec: frozenCopy(resource.spec),
        ...(resource.status !== undefined && { status: frozenCopy(resource.status) }),
      })
      resources.set(id, stored)
      if (before === undefined) own(stored)
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
        own(resource)
      })
      changes.push({ kind: 'deleted', key: resource.key, version: resource.version })
    }
  }

  function own({ key, owner }: Resource) {
    if (owner === undefined) return
    const ownerId = toKeyString(owner)
    const children = owned.get(ownerId) ?? new Set()
    owned.set(ownerId, children.add(toKeyString(key)))
  }

  function forget({ key, owner }: Resource) {
    const id = toKeyString(key)
    resources.delete(id)
    if (owner === undefined) return
    const ownerId = toKeyString(owner)
    const children = owned.get(ownerId)
    children?.delete(id)
    if (children?.size === 0) owned.delete(ownerId)
  }

  function list<S>(query: ListQuery): Page<Resource<S>> {
    kindOf(kinds, query.type)
    const limit = limitOf(query)
    const after = query.cursor === undefined ? undefined : fromCursor(query.cursor)
    const candidates =
      query.keys === undefined
        ? resources.values()
        : query.keys.map((key) => resources.get(toKeyString(key))).filter((resource) => resource !== undefined)
    const matching = [...candidates]
      .filter(
        ({ key, labels }) =>
          key.type === query.type && (query.mesh === undefined || key.mesh === query.mesh) && hasLabels(labels, query.labels),
      )
      .sort((a, b) => comparePositions(a.key, b.key))
    const rest = after === undefined ? matching : matching.filter(({ key }) => comparePositions(key, after) > 0)
    const items = rest.slice(0, limit) as Resource<S>[]
    const last = items.at(-1)
    return rest.length > items.length && last !== undefined ? { items, nextCursor: toCursor(last.key) } : { items }
  }
}

function hasLabels(labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([label, value]) => labels[label] === value)
}

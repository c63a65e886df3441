import type { Clock } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { DataplaneInsight, Subscription } from '../model/insight.ts'
import { formatKey, type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import { isFromZone } from '../model/origin.ts'
import type { ResourceChange, ResourceStore } from '../store/resource-store.ts'
import type { ConflictRetry, Upsert } from '../store/upsert.ts'

/**
 * Closes subscriptions whose instance died: an open one whose generation has not moved for a whole idle period gets a
 * disconnectedAt, by a write that loses to anybody who knows better. Every open subscription of an insight is watched, not
 * the last alone; a generation is compared for change only, for a reconnect's starts lower.
 */
export interface ZombieFinaliser {
  /** Open subscriptions watched, for the debug snapshot. */
  size(): number
  run(signal: AbortSignal): Promise<void>
}

export interface ZombieFinaliserDeps {
  /** Whose subscriptions: a type of insight. */
  readonly type: string
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'at'>
  readonly store: Pick<ResourceStore, 'changes' | 'list'>
  readonly upsert: Upsert
  readonly retry: () => ConflictRetry
  readonly idleTimeoutMs: Tunable<number>
  /** Whether a stream of this process stands behind it: then it is quiet, not dead. */
  readonly isLive: (subscriptionId: string) => boolean
  readonly onError: (what: string, error: unknown) => void
}

interface Watched {
  readonly key: ResourceKey
  readonly generation: number
  /** Monotonic. */
  readonly movedAt: number
}

/** Subscriptions of one insight that have not moved for a whole idle period, and where their generations stood. */
interface Due {
  readonly key: ResourceKey
  readonly generations: Map<string, number>
}

const WRITER = 'zombie-finaliser'
const PAGE = 1000
/** Insights looked at at a time: their writes share commits, and the store keeps room for others. */
const TOGETHER = 100

export function createZombieFinaliser({
  type,
  clock,
  store,
  upsert,
  retry,
  idleTimeoutMs,
  isLive,
  onError,
}: ZombieFinaliserDeps): ZombieFinaliser {
  /** By subscription id, in the order their generations moved: the first is the first to be due. */
  const watched = new Map<string, Watched>()
  const idsOf = new Map<KeyString, readonly string[]>()
  let wake: (() => void) | undefined

  return { size: () => watched.size, run }

  async function run(signal: AbortSignal): Promise<void> {
    idleTimeoutMs.watch(() => {
      watchAnew()
      wake?.()
    }, signal)
    // Subscribed before the read, so that nothing falls between.
    const changes = store.changes(signal)
    await readAll(signal)
    await Promise.all([follow(changes, signal), close(signal)])
  }

  async function follow(changes: AsyncIterable<ResourceChange>, signal: AbortSignal) {
    for await (const change of changes) {
      if (change.kind === 'resync') {
        await readAll(signal)
        watchAnew()
      } else if (change.kind === 'put') look(change.resource)
      else forget(toKeyString(change.key))
    }
  }

  async function readAll(signal: AbortSignal) {
    const seen = new Set<KeyString>()
    let cursor: string | undefined
    do {
      const page = await store.list({ type, limit: PAGE, ...(cursor !== undefined && { cursor }) }, { signal })
      for (const resource of page.items) {
        seen.add(toKeyString(resource.key))
        look(resource)
      }
      cursor = page.nextCursor
    } while (cursor !== undefined)
    for (const id of idsOf.keys()) if (!seen.has(id)) forget(id)
  }

  function look(resource: Resource) {
    // What a zone observes is the zone's to close: its heartbeat does not travel.
    if (resource.key.type !== type || isFromZone(resource)) return
    const { subscriptions } = resource.spec as DataplaneInsight
    const open = subscriptions.filter(isOpen)
    const id = toKeyString(resource.key)
    for (const known of idsOf.get(id) ?? []) if (!open.some((subscription) => subscription.id === known)) watched.delete(known)
    if (open.length === 0) idsOf.delete(id)
    else {
      idsOf.set(
        id,
        open.map((subscription) => subscription.id),
      )
    }
    for (const { id: subscriptionId, generation } of open) {
      if (watched.get(subscriptionId)?.generation !== generation)
        watch(subscriptionId, { key: resource.key, generation, movedAt: clock.monotonic() })
    }
  }

  function watch(subscriptionId: string, entry: Watched) {
    const wasIdle = watched.size === 0
    watched.delete(subscriptionId)
    watched.set(subscriptionId, entry)
    if (wasIdle) wake?.()
  }

  /**
   * Other instances keep their streams alive by the idle period they know, and are not seen during a gap. So after either
   * has changed, everybody gets a whole new period to be seen alive in.
   */
  function watchAnew() {
    const movedAt = clock.monotonic()
    for (const [subscriptionId, entry] of watched) watched.set(subscriptionId, { ...entry, movedAt })
  }

  function forget(id: KeyString) {
    for (const subscriptionId of idsOf.get(id) ?? []) watched.delete(subscriptionId)
    idsOf.delete(id)
  }

  async function close(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const due = takeDue()
      if (due.size > 0) await Promise.all([...due.values()].map((each) => judge(each, signal)))
      else await untilWokenOr(nextDueAt(), signal)
    }
  }

  function nextDueAt(): number {
    const [first] = watched.values()
    return first === undefined ? Infinity : first.movedAt + idleTimeoutMs.get()
  }

  /** The next that are due, by insight, as many as are looked at together: when an instance dies, all of its streams fall due at once. */
  function takeDue(): ReadonlyMap<KeyString, Due> {
    const now = clock.monotonic()
    const due = new Map<KeyString, Due>()
    for (const [subscriptionId, { key, generation, movedAt }] of watched) {
      const ofInsight = due.get(toKeyString(key)) ?? { key, generations: new Map() }
      const isFull = due.size === TOGETHER && ofInsight.generations.size === 0
      if (isFull || movedAt + idleTimeoutMs.get() > now) break
      due.set(toKeyString(key), ofInsight)
      ofInsight.generations.set(subscriptionId, generation)
    }
    // Looked at again after another idle period, whatever comes of this one.
    for (const { key, generations } of due.values())
      for (const [subscriptionId, generation] of generations) watch(subscriptionId, { key, generation, movedAt: now })
    return due
  }

  async function judge({ key, generations }: Due, signal: AbortSignal): Promise<void> {
    for (const subscriptionId of generations.keys()) if (isLive(subscriptionId)) generations.delete(subscriptionId)
    if (generations.size === 0) return
    const isZombie = (each: Subscription) => isOpen(each) && generations.get(each.id) === each.generation
    const closed = (present: Resource<DataplaneInsight> | undefined): DataplaneInsight => {
      if (present === undefined) throw new CoreError('not_found', 'the insight is gone, and its subscriptions with it')
      if (!present.spec.subscriptions.some(isZombie)) return present.spec
      return {
        ...present.spec,
        subscriptions: present.spec.subscriptions.map((each) => (isZombie(each) ? { ...each, disconnectedAt: clock.now() } : each)),
      }
    }
    try {
      await upsert<DataplaneInsight>(key, closed, { writer: WRITER, conflictRetry: retry(), signal })
    } catch (error) {
      if (!signal.aborted && !isCoreError(error, 'not_found')) onError(`close what nobody keeps alive of ${formatKey(key)}`, error)
    }
  }

  async function untilWokenOr(dueAt: number, signal: AbortSignal): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    const onAbort = () => waiting.resolve()
    wake = onAbort
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = dueAt === Infinity ? undefined : clock.at(dueAt, onAbort)
    if (signal.aborted) waiting.resolve()
    await waiting.promise
    signal.removeEventListener('abort', onAbort)
    timer?.cancel()
    wake = undefined
  }
}

function isOpen({ disconnectedAt }: Subscription): boolean {
  return disconnectedAt === undefined
}

import type { Clock, Timer } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ConflictRetry, Upsert } from '../store/upsert.ts'

export const LIFECYCLE_WRITER = 'lifecycle'

/**
 * Registers the Dataplane a stream brings along and removes it when it stays away.
 *
 * Each registration writes a marker of its session into the Dataplane. Removal comes a delay after the stream's end, reads
 * the marker and deletes under the version it read: so it never hits a Dataplane that connected again meanwhile, here or to
 * another instance. Our own shutdown removes nothing.
 */
export interface Lifecycle {
  /** Rejects with `not_found` when neither the node nor the store has a Dataplane, or its mesh does not exist. */
  register(request: Registration): Promise<Registered>
  /** The stream of a registration has ended. */
  left(subject: ResourceKey, sessionId: string): void
  /** Removals that wait for their delay. */
  pending(): number
  /** Removes what is due until aborted, then forgets what is not. */
  run(signal: AbortSignal): Promise<void>
}

export interface Registration {
  readonly subject: ResourceKey
  readonly sessionId: string
  readonly dataplane: Dataplane | undefined
  readonly signal: AbortSignal
}

export interface Registered {
  readonly resource: Resource<Dataplane>
  /** This call made it. */
  readonly isNew: boolean
  /** It came with the stream, so it goes with it. */
  readonly isOwn: boolean
}

export interface LifecycleDeps {
  readonly clock: Clock
  readonly store: Pick<ResourceStore, 'get' | 'delete'>
  /** Reads that may be a moment old. */
  readonly cache: Pick<ResourceStore, 'get'>
  readonly upsert: Upsert
  readonly retry: () => ConflictRetry
  readonly deregistrationDelayMs: Tunable<number>
  readonly instance: string
  readonly onError: (what: string, error: unknown) => void
}

export function createLifecycle(deps: LifecycleDeps): Lifecycle {
  const { clock, store, cache, upsert, retry, deregistrationDelayMs, instance, onError } = deps
  const removals = new Map<KeyString, Timer>()
  const current = new Map<KeyString, string>()
  let isStopped = false

  return {
    async register({ subject, sessionId, dataplane, signal }) {
      cancelRemoval(subject)
      if (dataplane === undefined) return { resource: await existing(subject), isNew: false, isOwn: false }
      await checkMesh(subject)
      const spec: Dataplane = { ...dataplane, session: { id: sessionId, instance } }
      const { resource, outcome } = await upsert<Dataplane>(subject, () => spec, {
        writer: LIFECYCLE_WRITER,
        conflictRetry: retry(),
        signal,
      })
      current.set(toKeyString(subject), sessionId)
      return { resource, isNew: outcome === 'created', isOwn: true }
    },

    left(subject, sessionId) {
      const id = toKeyString(subject)
      if (current.get(id) !== sessionId) return
      current.delete(id)
      if (isStopped) return
      cancelRemoval(subject)
      removals.set(
        id,
        clock.at(clock.monotonic() + deregistrationDelayMs.get(), () => {
          removals.delete(id)
          remove(subject, sessionId).catch((error: unknown) => onError(`remove the Dataplane ${subject.mesh}.${subject.name}`, error))
        }),
      )
    },

    pending: () => removals.size,

    async run(signal) {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      isStopped = true
      for (const timer of removals.values()) timer.cancel()
      removals.clear()
    },
  }

  function cancelRemoval(subject: ResourceKey) {
    const id = toKeyString(subject)
    removals.get(id)?.cancel()
    removals.delete(id)
  }

  async function existing(subject: ResourceKey): Promise<Resource<Dataplane>> {
    try {
      return await store.get<Dataplane>(subject)
    } catch (error) {
      if (!isCoreError(error, 'not_found')) throw error
      throw new CoreError(
        'not_found',
        `there is no Dataplane ${subject.mesh}.${subject.name}, and the node brings none: put its JSON into the node metadata field dataplane.resource`,
        { cause: error },
      )
    }
  }

  async function checkMesh({ mesh }: ResourceKey) {
    try {
      await cache.get({ type: 'Mesh', mesh: '', name: mesh })
    } catch (error) {
      if (!isCoreError(error, 'not_found')) throw error
      throw new CoreError('not_found', `there is no mesh "${mesh}": create it first, or use another node id`, { cause: error })
    }
  }

  /** Only what still carries this session's marker, and only as it was read. */
  async function remove(subject: ResourceKey, sessionId: string): Promise<void> {
    if (current.has(toKeyString(subject)) || isStopped) return
    try {
      const { spec, version } = await store.get<Dataplane>(subject)
      if (spec.session?.id !== sessionId) return
      await store.delete(subject, { writer: LIFECYCLE_WRITER, expectedVersion: version })
    } catch (error) {
      // Gone already, or written since: somebody else decided.
      if (!isCoreError(error, 'not_found') && !isCoreError(error, 'conflict')) throw error
    }
  }
}

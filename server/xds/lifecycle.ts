import type { Clock, Timer } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import { fromKeyString, type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ConflictRetry, Upsert } from '../store/upsert.ts'

const LIFECYCLE_WRITER = 'lifecycle'

/**
 * Registers the Dataplane a stream brings along and removes it when it stays away.
 *
 * Each registration writes a marker of its session into the Dataplane, so that it is a new version each time. Removal comes a
 * delay after the end of the last stream that is this data plane here, reads the marker and deletes under the version it
 * read: so it never hits a Dataplane that connected again meanwhile, here or to another instance. Our own shutdown removes
 * nothing. Of several streams that bring the same Dataplane, the newest wins.
 */
export interface Lifecycle {
  /** Rejects with `not_found` when neither the node nor the store has a Dataplane, or its mesh does not exist. */
  register(request: Registration): Promise<Registered>
  /** The stream of a registration has ended. */
  left(subject: ResourceKey, sessionId: string): void
  /** Data planes that are connected, or were a moment ago, for the debug snapshot. */
  size(): number
  /** Removals that wait for their delay. */
  pending(): number
  /** This instance is going: from now on nobody is removed, least of all those whose streams it ends itself. */
  freeze(): void
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

/** A data plane that is, or was a moment ago, connected here. */
interface Presence {
  readonly live: Set<string>
  /** A stream has brought it along, so it goes with the last one. */
  isOurs: boolean
  /** Monotonic. */
  leftAt: number
  removal: Timer | undefined
}

/** Removal that failed is tried again; not sooner than this. */
const RETRY_MS = 1_000
/** A Dataplane that is written again and again while it is removed is left alone after this many rounds. */
const MOST_ROUNDS = 5

export function createLifecycle(deps: LifecycleDeps): Lifecycle {
  const { clock, store, cache, upsert, retry, deregistrationDelayMs, instance, onError } = deps
  const presences = new Map<KeyString, Presence>()
  let isStopped = false

  return { register, left, size: () => presences.size, pending, freeze, run }

  async function register({ subject, sessionId, dataplane, signal }: Registration): Promise<Registered> {
    const presence = presenceOf(subject)
    // From here on, and not only when it is stored: a removal that falls due meanwhile must see it.
    presence.live.add(sessionId)
    cancelRemoval(presence)
    try {
      if (dataplane === undefined) return { resource: await existing(subject), isNew: false, isOwn: false }
      await checkMesh(subject)
      // A write that was cut off may have been made all the same; whoever leaves then looks.
      presence.isOurs = true
      const spec: Dataplane = { ...dataplane, session: { id: sessionId, instance } }
      const { resource, outcome } = await upsert<Dataplane>(subject, () => spec, {
        writer: LIFECYCLE_WRITER,
        conflictRetry: retry(),
        signal,
      })
      return { resource, isNew: outcome === 'created', isOwn: true }
    } catch (error) {
      left(subject, sessionId)
      throw error
    }
  }

  function left(subject: ResourceKey, sessionId: string) {
    const presence = presences.get(toKeyString(subject))
    if (presence === undefined || !presence.live.delete(sessionId) || presence.live.size > 0) return
    if (!presence.isOurs || isStopped) return void presences.delete(toKeyString(subject))
    presence.leftAt = clock.monotonic()
    schedule(subject, presence)
  }

  function pending(): number {
    return [...presences.values()].filter(({ removal }) => removal !== undefined).length
  }

  async function run(signal: AbortSignal): Promise<void> {
    deregistrationDelayMs.watch(() => {
      for (const [id, presence] of presences) if (presence.removal !== undefined) schedule(fromKeyString(id), presence)
    }, signal)
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    freeze()
  }

  function freeze() {
    isStopped = true
    for (const presence of presences.values()) cancelRemoval(presence)
    presences.clear()
  }

  function presenceOf(subject: ResourceKey): Presence {
    const id = toKeyString(subject)
    const known = presences.get(id)
    if (known !== undefined) return known
    const presence: Presence = { live: new Set(), isOurs: false, leftAt: 0, removal: undefined }
    presences.set(id, presence)
    return presence
  }

  function schedule(subject: ResourceKey, presence: Presence, notBefore = 0) {
    cancelRemoval(presence)
    presence.removal = clock.at(Math.max(presence.leftAt + deregistrationDelayMs.get(), notBefore), () => {
      presence.removal = undefined
      remove(subject, presence).catch((error: unknown) => {
        onError(`remove the Dataplane ${subject.mesh}.${subject.name}`, error)
        if (presence.live.size === 0 && !isStopped) schedule(subject, presence, clock.monotonic() + RETRY_MS)
      })
    })
  }

  function cancelRemoval(presence: Presence) {
    presence.removal?.cancel()
    presence.removal = undefined
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

  /** Only what still carries a marker of ours, and only as it was read. */
  async function remove(subject: ResourceKey, presence: Presence): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      try {
        const { spec, version } = await store.get<Dataplane>(subject)
        if (presence.live.size > 0 || isStopped) return
        if (spec.session?.instance === instance) await store.delete(subject, { writer: LIFECYCLE_WRITER, expectedVersion: version })
        break
      } catch (error) {
        if (isCoreError(error, 'not_found')) break
        // Written since: by whom, the next read tells.
        if (!isCoreError(error, 'conflict')) throw error
      }
    }
    if (presence.live.size === 0 && presence.removal === undefined) presences.delete(toKeyString(subject))
  }
}

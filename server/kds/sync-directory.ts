import { createTopic } from '../lib/topic.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Present } from '../discovery/discovery.ts'
import type { DiscoveryResource } from '../discovery/discovery-session.ts'
import { type KeyString, type Resource, toKeyString } from '../model/resource.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { KumaResourceCodec, WireResource } from './kuma-resource.ts'
import { isOurs, type Sender, toSynced } from './outbound-resource.ts'

/** As a discovery session sends it. */
export interface SyncResource extends WireResource, DiscoveryResource {}

/**
 * What this control plane has to send to the other side, as it crosses: read from the store once, then kept by its change feed, and
 * encoded once for all streams.
 */
export interface SyncDirectory {
  /** What a peer may have of a type, under the names it wants. */
  presentOf(type: string, hashSuffix: boolean): Present<SyncResource>
  /** Whether the truth about the type is ours: any other must stay unanswered, for an empty first answer deletes. */
  owns(type: string): boolean
  /** Called with the types of which something changed. */
  onChange(listener: (types: ReadonlySet<string>) => void, signal: AbortSignal): void
  /** Resolves when everything has been read once. */
  ready(): Promise<void>
  run(signal: AbortSignal): Promise<void>
  /** Resources kept, for the debug snapshot. */
  size(): number
}

export interface SyncDirectoryDeps {
  readonly store: Pick<ResourceStore, 'list' | 'changes'>
  readonly codec: KumaResourceCodec
  readonly origin: Sender['origin']
  /** What may cross in this direction. */
  readonly types: readonly string[]
  /** Owned also while there is none of it. */
  readonly owned: ReadonlySet<string>
  /** Whether it may leave at all; in whose hands it must not fall is decided here. */
  readonly mayCross: (resource: Resource) => boolean
  /** It can't be put into a message; it stays here, and operators are told. */
  readonly onUnsendable: (resource: Resource, error: unknown) => void
}

const PAGE = 1000

interface TypeContent {
  readonly resources: Map<KeyString, Resource>
  /** By whether names have a suffix: made when first asked for. */
  readonly encoded: Map<boolean, Map<string, SyncResource>>
}

export function createSyncDirectory(deps: SyncDirectoryDeps): SyncDirectory {
  const { store, codec, origin, owned, mayCross, onUnsendable } = deps
  const contents = new Map<string, TypeContent>(deps.types.map((type) => [type, { resources: new Map(), encoded: new Map() }]))
  /** Of other types: once there was one of ours, its truth stays ours while we run. */
  const everOwned = new Set<string>(owned)
  const topic = createTopic<ReadonlySet<string>>()
  const firstRead = Promise.withResolvers<void>()

  return {
    presentOf(type, hashSuffix) {
      const content = contents.get(type)
      const own = content === undefined ? new Map<string, SyncResource>() : encodedOf(content, hashSuffix)
      return { own, find: (name) => own.get(name) }
    },
    owns: (type) => contents.has(type) && everOwned.has(type),
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    ready: () => firstRead.promise,
    size: () => [...contents.values()].reduce((sum, { resources }) => sum + resources.size, 0),
    async run(signal) {
      const changes = store.changes(signal)
      await readAll(signal)
      firstRead.resolve()
      for await (const change of changes) {
        if (change.kind === 'resync') await readAll(signal)
        else if (change.kind === 'put') put(change.resource)
        else drop(change.key.type, toKeyString(change.key))
      }
    },
  }

  async function readAll(signal: AbortSignal) {
    for (const [type, { resources }] of contents) {
      const seen = new Set<KeyString>()
      let cursor: string | undefined
      do {
        const page = await list(type, cursor, signal)
        for (const resource of page.items) {
          seen.add(toKeyString(resource.key))
          put(resource)
        }
        cursor = page.nextCursor
      } while (cursor !== undefined)
      for (const id of resources.keys()) if (!seen.has(id)) drop(type, id)
    }
  }

  async function list(type: string, cursor: string | undefined, signal: AbortSignal) {
    try {
      return await store.list({ type, limit: PAGE, ...(cursor !== undefined && { cursor }) }, { signal })
    } catch (error) {
      throw isCoreError(error) ? error : new CoreError('internal', `what there is of ${type} could not be read`, { cause: error })
    }
  }

  function put(resource: Resource) {
    const { type } = resource.key
    const content = contents.get(type)
    if (content === undefined) return
    const id = toKeyString(resource.key)
    if (!isOurs(resource, { origin }) || !mayCross(resource)) return drop(type, id)
    const known = content.resources.get(id)
    if (known?.version === resource.version) return
    content.resources.set(id, resource)
    everOwned.add(type)
    for (const [hashSuffix, encoded] of content.encoded) {
      if (known !== undefined) forget(encoded, known, hashSuffix)
      encode(encoded, resource, hashSuffix)
    }
    topic.publish(new Set([type]))
  }

  function drop(type: string, id: KeyString) {
    const content = contents.get(type)
    const known = content?.resources.get(id)
    if (content === undefined || known === undefined) return
    content.resources.delete(id)
    for (const [hashSuffix, encoded] of content.encoded) forget(encoded, known, hashSuffix)
    topic.publish(new Set([type]))
  }

  function encodedOf({ resources, encoded }: TypeContent, hashSuffix: boolean): Map<string, SyncResource> {
    const known = encoded.get(hashSuffix)
    if (known !== undefined) return known
    const made = new Map<string, SyncResource>()
    for (const resource of resources.values()) encode(made, resource, hashSuffix)
    encoded.set(hashSuffix, made)
    return made
  }

  function encode(into: Map<string, SyncResource>, resource: Resource, hashSuffix: boolean) {
    try {
      const wire = codec.encode(toSynced(resource, { origin, hashSuffix }))
      into.set(wire.name, { ...wire, needs: [] })
    } catch (error) {
      onUnsendable(resource, error)
    }
  }

  function forget(encoded: Map<string, SyncResource>, { key, labels }: Resource, hashSuffix: boolean) {
    const { name, mesh } = toSynced({ key, labels, spec: {} }, { origin, hashSuffix }).key
    encoded.delete(`${name}.${mesh}`)
  }
}

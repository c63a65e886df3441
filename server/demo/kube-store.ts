/** The objects of a simulated cluster with their versions, and the changes that are kept for those who watch. Pure: nothing of HTTP or time. */
export interface KubeStore {
  /** Of the last change. */
  version(): number
  /** Stores it under the next version. `collection` is the plural: `pods`. */
  put(collection: string, object: StoredObject): void
  remove(collection: string, key: string): void
  /** `namespace/name` */
  get(collection: string, key: string): StoredObject | undefined
  /** By key. What is returned stays as it is. */
  list(collection: string): readonly StoredObject[]
  /** What changed after `version`; `expired` when that is no longer kept. A version from the future has no changes yet. */
  since(collection: string, version: number): readonly KubeChange[] | 'expired'
  /** All of a list as it was when its first page was given out; undefined when too many lists came after it. */
  snapshot(collection: string, version: number): readonly StoredObject[] | undefined
  keepSnapshot(collection: string): void
  /** What puts all back as it is now, the store then being at `version`: a backup knows nothing of what came after it. */
  backup(version: number): () => void
}

export interface StoredObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly resourceVersion?: string
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

export interface KubeChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly collection: string
  readonly version: number
  readonly object: StoredObject
}

export interface KubeStoreOptions {
  readonly firstVersion: number
  /** How many changes are kept. */
  readonly window: number
}

const SNAPSHOTS = 16

export const keyOf = ({ metadata: { name, namespace = '' } }: StoredObject) => `${namespace}/${name}`

export function createKubeStore({ firstVersion, window }: KubeStoreOptions): KubeStore {
  let collections = new Map<string, Map<string, StoredObject>>()
  let changes: KubeChange[] = []
  let version = firstVersion
  /** Changes up to here are gone. */
  let forgotten = firstVersion
  const snapshots = new Map<string, readonly StoredObject[]>()

  return {
    version: () => version,
    put(collection, object) {
      const objects = collections.getOrInsertComputed(collection, () => new Map<string, StoredObject>())
      const isKnown = objects.has(keyOf(object))
      const stored = stamped(object)
      objects.set(keyOf(object), stored)
      record({ type: isKnown ? 'MODIFIED' : 'ADDED', collection, version, object: stored })
    },
    remove(collection, key) {
      const object = collections.get(collection)?.get(key)
      if (object === undefined) return
      collections.get(collection)?.delete(key)
      record({ type: 'DELETED', collection, object: stamped(object), version })
    },
    get: (collection, key) => collections.get(collection)?.get(key),
    list,
    since: (collection, after) =>
      after < forgotten ? 'expired' : changes.filter((change) => change.collection === collection && change.version > after),
    snapshot: (collection, at) => snapshots.get(`${collection}@${at}`),
    keepSnapshot(collection) {
      snapshots.set(`${collection}@${version}`, list(collection))
      for (const oldest of snapshots.keys()) if (snapshots.size > SNAPSHOTS) snapshots.delete(oldest)
    },
    backup(at) {
      const copy = new Map([...collections].map(([name, objects]) => [name, new Map(objects)]))
      return () => {
        version = at
        collections = new Map(
          [...copy].map(([name, objects]) => [name, new Map([...objects].map(([key, object]) => [key, stamped(object)]))]),
        )
        forgotten = version
        changes = []
        snapshots.clear()
      }
    },
  }

  function list(collection: string): readonly StoredObject[] {
    return [...(collections.get(collection)?.values() ?? [])].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  }

  function stamped(object: StoredObject): StoredObject {
    version++
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
  }

  function record(change: KubeChange) {
    changes.push(change)
    if (changes.length <= window) return
    const gone = changes.splice(0, changes.length - window)
    forgotten = gone.at(-1)?.version ?? forgotten
  }
}

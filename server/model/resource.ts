/** What identifies a resource. `mesh` is '' where the type has none. */
export interface ResourceKey {
  readonly type: string
  readonly mesh: string
  readonly name: string
}

/** Opaque and unique in the whole store: a deleted and recreated object never gets an old one back. Only equal or not equal. */
export type Version = string & { readonly __brand: 'Version' }

/** A named code path that writes, and the instance it runs in. */
export interface Writer {
  /** `dataplane-sink`, `identity`, `lifecycle`, ... */
  readonly name: string
  readonly instance: string
}

/** A versioned object in the store, deeply frozen. A change is a new object; no change is the same reference. */
export interface Resource<Spec = unknown, Status = unknown> {
  readonly key: ResourceKey
  readonly version: Version
  /** Epoch ms. */
  readonly createdAt: number
  /** Epoch ms of the last stored write. */
  readonly modifiedAt: number
  readonly labels: Readonly<Record<string, string>>
  /** Deleted with it. The owner must exist when this is created. */
  readonly owner?: ResourceKey
  /** Who made the last stored write. */
  readonly writer: Writer
  readonly spec: Spec
  readonly status?: Status
}

/** What a caller hands in to create: the store adds version, times and writer. */
export type ResourceDraft<Spec = unknown, Status = unknown> = Pick<Resource<Spec, Status>, 'key' | 'spec'> &
  Partial<Pick<Resource<Spec, Status>, 'labels' | 'owner' | 'status'>>

/** Who won a conflict. */
export interface LostTo {
  readonly writer: string
  readonly instance: string
  readonly version: Version
  /** Epoch ms of the winning write. */
  readonly at: number
  /** `exact` where the store keeps the writer of each version; `inferred` where it was read afterwards. */
  readonly certainty: 'exact' | 'inferred'
}

/** One line per key, sortable: type, mesh and name, which never contain a NUL, joined by it. */
export type KeyString = string & { readonly __brand: 'KeyString' }

export function toKeyString(key: ResourceKey): KeyString {
  return `${key.type}\0${key.mesh}\0${key.name}` as KeyString
}

export function fromKeyString(text: KeyString): ResourceKey {
  const [type = '', mesh = '', name = ''] = text.split('\0')
  return { type, mesh, name }
}

export function isSameKey(a: ResourceKey, b: ResourceKey): boolean {
  return a.name === b.name && a.mesh === b.mesh && a.type === b.type
}

/** For messages: `Dataplane default/web-1`, `Mesh default`. */
export function formatKey(key: ResourceKey): string {
  return key.mesh === '' ? `${key.type} ${key.name}` : `${key.type} ${key.mesh}/${key.name}`
}

import type { Resource, ResourceDraft, ResourceKey, Version } from '../model/resource.ts'
import type { CoreError } from '../lib/errors.ts'

/**
 * The storage port: versioned resources under optimistic locks. Every adapter passes the one contract suite
 * (store-contract.ts). Values it hands out are deeply frozen. All failures are CoreErrors; besides the codes named below any
 * call may fail with `unavailable` (the store cannot answer now), `aborted` (the caller's signal) or `invalid` (a key or
 * query that breaks a rule).
 */
export interface ResourceStore {
  /** Throws `not_found`. */
  get<S = unknown>(key: ResourceKey, options?: ReadOptions): Promise<Resource<S>>
  /** Stable order by key (mesh, then name). `limit` is 1..1000 (default 100). */
  list<S = unknown>(query: ListQuery, options?: ReadOptions): Promise<Page<Resource<S>>>
  /** Throws `already_exists` with details.lostTo (who made it), `owner_missing`, `invalid`. The owner defaults to what the kind says; the caller's wins. */
  create<S>(draft: ResourceDraft<S>, options: WriteOptions): Promise<Resource<S>>
  /** Writes spec, status and labels under the lock of `resource.version`; ownership and createdAt stay. Throws `conflict` with details.lostTo, `not_found`, `invalid`. */
  update<S>(resource: Resource<S>, options: WriteOptions): Promise<Resource<S>>
  /** With `expectedVersion` under its lock. Deletes what it owns, too. Throws `not_found`, `conflict` with details.lostTo. */
  delete(key: ResourceKey, options: WriteOptions & { readonly expectedVersion?: Version }): Promise<void>
  /**
   * Many writes in one transaction; result i answers write i. One item's failure never hurts its neighbours, unless
   * `atomic`: then all or nothing, and the others fail with `aborted`. Rejects only if the whole batch could not be tried.
   */
  writeBatch(writes: readonly Write[], options: WriteOptions & { readonly atomic?: boolean }): Promise<readonly WriteResult[]>
  /**
   * Everything that changes from the call on (not from the first pull), in order per key. A reader that falls too far behind
   * loses its backlog and gets one `resync`: read everything again. Ends when the signal aborts.
   */
  changes(signal: AbortSignal): AsyncIterable<ResourceChange>
  /** Finishes writes under way and releases files. Later calls fail with `unavailable`. */
  close(): Promise<void>
}

export interface ReadOptions {
  readonly signal?: AbortSignal
}
export interface WriteOptions {
  /** The named code path that writes: `dataplane-sink`, `lifecycle`, ... The store adds the instance. */
  readonly writer: string
  readonly signal?: AbortSignal
}

export interface ListQuery {
  readonly type: string
  readonly mesh?: string
  /** Only resources that carry all of these. */
  readonly labels?: Readonly<Record<string, string>>
  /** Only these keys (at most 1000); absent ones are left out. */
  readonly keys?: readonly ResourceKey[]
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
}
export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor?: string
}

export type Write =
  | { readonly kind: 'create'; readonly draft: ResourceDraft }
  | { readonly kind: 'update'; readonly resource: Resource }
  | { readonly kind: 'delete'; readonly key: ResourceKey; readonly expectedVersion?: Version }

export type WriteResult = { readonly ok: true; readonly resource?: Resource } | { readonly ok: false; readonly error: CoreError }

export type ResourceChange =
  | { readonly kind: 'put'; readonly resource: Resource }
  /** `version` is the one that was deleted. */
  | { readonly kind: 'deleted'; readonly key: ResourceKey; readonly version: Version }
  /** A gap: what was known may be out of date. */
  | { readonly kind: 'resync' }

/** How a store is, beside the port: null while it works, else one line for operators and since when (epoch ms). */
export interface StoreHealth {
  problem(): { readonly message: string; readonly since: number } | null
  /** Null while what is written is stored at once, else how long that takes now and since when (epoch ms). */
  slow(): { readonly commitMs: number; readonly since: number } | null
}

/** What crosses between the store and the thread that writes: strings serialised once on the way there, a byte per write on the way back. */

export interface WorkerOptions {
  readonly path: string
  /** Held exclusively while the thread lives, so that two processes never share one file. */
  readonly lockPath: string
}

/** type, mesh, name. */
export type Place = readonly [type: string, mesh: string, name: string]

interface Content {
  readonly key: Place
  readonly version: number
  readonly at: number
  readonly writer: string
  readonly labels: string
  readonly spec: string
  readonly status: string | null
}
export interface WorkerCreate extends Content {
  readonly kind: 'create'
  readonly owner: Place | null
}
export interface WorkerUpdate extends Content {
  readonly kind: 'update'
  readonly expected: number
}
export interface WorkerDelete {
  readonly kind: 'delete'
  readonly key: Place
  /** null: whatever version is there. */
  readonly expected: number | null
}
export type WorkerWrite = WorkerCreate | WorkerUpdate | WorkerDelete

/** One transaction. */
export interface WorkerRequest {
  readonly instance: string
  readonly writes: readonly WorkerWrite[]
  /** Ranges [from, to) of writes that are all or nothing, in order. */
  readonly atomic: readonly (readonly [from: number, to: number])[]
  /** The highest version given out so far: kept, so that none is ever used twice. */
  readonly highestVersion: number
}

export const outcome = { done: 0, notFound: 1, alreadyExists: 2, conflict: 3, ownerMissing: 4, rolledBack: 5 } as const

export interface Winner {
  readonly version: number
  readonly writer: string
  readonly instance: string
  readonly at: number
}
export type Removed = readonly [place: Place, version: number]

export type WorkerAnswer =
  | { readonly kind: 'ready'; readonly highestVersion: number }
  /** The file can't be used; one line for an operator. */
  | { readonly kind: 'refused'; readonly message: string }
  | Committed
  /** Nothing of the request was written; one line for an operator. */
  | { readonly kind: 'failed'; readonly message: string }

export interface Committed {
  readonly kind: 'committed'
  /** How long the transaction took, the disk's part above all. */
  readonly tookMs: number
  /** One of `outcome` for each write. */
  readonly outcomes: Uint8Array
  /** Who won each conflict, by the write's index. */
  readonly winners: ReadonlyMap<number, Winner>
  /** What each delete removed, owned before owner, by the write's index. */
  readonly removed: ReadonlyMap<number, readonly Removed[]>
}

/** What crosses between the store and its worker: strings serialised once on the way there, a byte per write on the way back. */

export interface WorkerOptions {
  readonly path: string
  /** Held exclusively for the life of the process, so that two processes never share one file. */
  readonly lockPath: string
}

export type WorkerWrite =
  | {
      readonly kind: 'create'
      readonly key: Place
      readonly version: number
      readonly at: number
      readonly writer: string
      readonly labels: string
      readonly spec: string
      readonly status: string | null
      readonly owner: Place | null
    }
  | {
      readonly kind: 'update'
      readonly key: Place
      readonly expected: number
      readonly version: number
      readonly at: number
      readonly writer: string
      readonly labels: string
      readonly spec: string
      readonly status: string | null
    }
  | { readonly kind: 'delete'; readonly key: Place; readonly expected: number | null }

/** type, mesh, name. */
export type Place = readonly [type: string, mesh: string, name: string]

export interface WorkerRequest {
  readonly instance: string
  readonly writes: readonly WorkerWrite[]
  /** Ranges [from, to) of writes that are all or nothing. */
  readonly atomic: readonly (readonly [from: number, to: number])[]
  /** The highest version given out so far: kept, so that none is ever used twice. */
  readonly highestVersion: number
}

export const DONE = 0
export const NOT_FOUND = 1
export const ALREADY_EXISTS = 2
export const CONFLICT = 3
export const OWNER_MISSING = 4
export const ROLLED_BACK = 5

export interface Winner {
  readonly version: number
  readonly writer: string
  readonly instance: string
  readonly at: number
}

export type WorkerAnswer =
  | { readonly kind: 'ready'; readonly highestVersion: number }
  /** The file can't be used; the message is one line for an operator. */
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'committed'
      readonly outcomes: Uint8Array
      /** Of each conflict, by the write's index. */
      readonly winners: ReadonlyMap<number, Winner>
      /** What each delete removed, itself last, by the write's index. */
      readonly deleted: ReadonlyMap<number, readonly (readonly [place: Place, version: number])[]>
    }
  /** Nothing of the request was written. */
  | { readonly kind: 'failed'; readonly message: string }

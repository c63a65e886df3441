import type { LostTo, Resource, ResourceKey } from '../model/resource.ts'

/** The write path that everything but the batched sink uses. */
export interface Upsert {
  /**
   * Consistent read (or absent), `mutate` on what was read, create or update under the version read. `mutate` is pure: it
   * gets the frozen present resource (undefined = absent) and returns the new spec; the same reference or a deeply equal
   * one is `unchanged`: nothing is written.
   *
   * Without `conflictRetry` there is exactly one attempt. With it, `conflict`, `already_exists` on create, `not_found` on
   * update after a successful read, and errors marked safe to retry are retried; each attempt reads again, past any cache,
   * and runs `mutate` on the fresh copy. Rejects with the last CoreError, details.attempts and details.conflicts added.
   */
  <S>(key: ResourceKey, mutate: (present: Resource<S> | undefined) => S, options: UpsertOptions): Promise<UpsertResult<S>>
}

export interface UpsertOptions {
  readonly writer: string
  readonly conflictRetry?: ConflictRetry
  /** Replaced only if given. */
  readonly labels?: Readonly<Record<string, string>>
  readonly owner?: ResourceKey
  readonly signal?: AbortSignal
}

/** Exponential, jittered, capped waits between attempts. `baseBackoffMs` <= 0 or `maxTimes` 0 = one attempt. */
export interface ConflictRetry {
  readonly baseBackoffMs: number
  /** No wait is longer; default 2 s. */
  readonly maxBackoffMs: number
  /** Retries after the first attempt. */
  readonly maxTimes: number
  /** 0..100. */
  readonly jitterPercent: number
}

export interface UpsertResult<S = unknown> {
  readonly outcome: 'created' | 'updated' | 'unchanged'
  /** What is stored now. */
  readonly resource: Resource<S>
  readonly attempts: number
  /** Who won each attempt that was lost. */
  readonly conflicts: readonly LostTo[]
}

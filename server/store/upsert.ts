import { backoffDelayMs } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import { CoreError, toCoreError } from '../lib/errors.ts'
import type { LostTo, Resource, ResourceDraft, ResourceKey } from '../model/resource.ts'
import { isSameStored } from './json-value.ts'
import type { ResourceStore } from './resource-store.ts'

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

/** Told of every attempt, so that conflicts can be counted when their story ends. */
export interface UpsertObserver {
  /** A write was refused; another attempt may follow. */
  lost(event: { readonly key: ResourceKey; readonly writer: string; readonly lostTo: LostTo | undefined }): void
  /** It is stored, or was there already. */
  done(event: { readonly key: ResourceKey; readonly writer: string; readonly result: UpsertResult }): void
  /** It was given up after this many attempts. */
  gaveUp(event: { readonly key: ResourceKey; readonly writer: string; readonly attempts: number; readonly error: CoreError }): void
}

export interface UpsertDeps {
  readonly store: Pick<ResourceStore, 'get' | 'create' | 'update'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: () => number
  readonly observer?: UpsertObserver
}

const BACKOFF_FACTOR = 2

export function createUpsert({ store, clock, random, observer }: UpsertDeps): Upsert {
  return async function upsert<S>(
    key: ResourceKey,
    mutate: (present: Resource<S> | undefined) => S,
    options: UpsertOptions,
  ): Promise<UpsertResult<S>> {
    const { writer, conflictRetry, signal } = options
    const conflicts: LostTo[] = []
    const mostAttempts = 1 + retriesOf(conflictRetry)
    for (let attempt = 1; ; attempt++) {
      let wasPresent = false
      try {
        const present = await read<S>(key, signal)
        wasPresent = present !== undefined
        const { outcome, resource } = await write(key, { present, spec: mutate(present) }, options)
        const result = { outcome, resource, attempts: attempt, conflicts }
        observer?.done({ key, writer, result })
        return result
      } catch (thrown) {
        const error = toCoreError(thrown)
        if (isLostRace(error, wasPresent)) {
          const lostTo = error.details['lostTo'] as LostTo | undefined
          if (lostTo !== undefined) conflicts.push(lostTo)
          observer?.lost({ key, writer, lostTo })
        } else if (!error.safeToRetry) giveUp(error, attempt)
        if (attempt >= mostAttempts || conflictRetry === undefined) giveUp(error, attempt)
        const waitMs = backoffDelayMs(policyOf(conflictRetry), attempt, random)
        await clock
          .sleep(waitMs, signal)
          .catch(() => giveUp(new CoreError('aborted', 'ended while waiting to try again', { cause: error }), attempt))
      }
    }

    function giveUp(error: CoreError, attempts: number): never {
      observer?.gaveUp({ key, writer, attempts, error })
      throw new CoreError(error.code, error.message, {
        details: { ...error.details, attempts, conflicts },
        cause: error,
        safeToRetry: error.safeToRetry,
      })
    }
  }

  async function read<S>(key: ResourceKey, signal: AbortSignal | undefined): Promise<Resource<S> | undefined> {
    try {
      return await store.get<S>(key, signal === undefined ? {} : { signal })
    } catch (error) {
      if (toCoreError(error).code === 'not_found') return undefined
      throw error
    }
  }

  async function write<S>(
    key: ResourceKey,
    { present, spec }: { readonly present: Resource<S> | undefined; readonly spec: S },
    options: UpsertOptions,
  ): Promise<Pick<UpsertResult<S>, 'outcome' | 'resource'>> {
    const { writer, labels, owner, signal } = options
    const how = { writer, ...(signal !== undefined && { signal }) }
    if (present === undefined) {
      const draft: ResourceDraft<S> = { key, spec, ...(labels !== undefined && { labels }), ...(owner !== undefined && { owner }) }
      return { outcome: 'created', resource: await store.create(draft, how) }
    }
    const next = { ...present, spec, labels: labels ?? present.labels }
    if (isSameStored(present.spec, spec) && isSameStored(present.labels, next.labels)) return { outcome: 'unchanged', resource: present }
    return { outcome: 'updated', resource: await store.update(next, how) }
  }
}

/** `conflict`; created meanwhile by another; or deleted meanwhile by another. */
function isLostRace({ code }: CoreError, wasPresent: boolean): boolean {
  return code === 'conflict' || (wasPresent ? code === 'not_found' : code === 'already_exists')
}

function retriesOf(retry: ConflictRetry | undefined): number {
  return retry === undefined || retry.baseBackoffMs <= 0 ? 0 : Math.max(0, retry.maxTimes)
}

function policyOf({ baseBackoffMs, maxBackoffMs, jitterPercent }: ConflictRetry) {
  return { baseMs: baseBackoffMs, maxMs: maxBackoffMs, factor: BACKOFF_FACTOR, jitterPercent }
}

import { assertNever } from '../lib/assert-never.ts'
import type { Clock } from '../lib/clock.ts'
import { CoreError, isCoreError, toCoreError } from '../lib/errors.ts'
import type { Random } from '../lib/random.ts'
import { isSameStored } from '../store/json-value.ts'
import { formatKey, type Resource, type ResourceDraft, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { ResourceStore, Write, WriteResult } from '../store/resource-store.ts'

/** A change that the other side wants to see stored here. */
export type IncomingChange =
  | { readonly kind: 'put'; readonly draft: ResourceDraft }
  | { readonly kind: 'remove'; readonly key: ResourceKey }

/** Why one of them was not stored: it is for its maker to mend, or waits for something else to come. */
export interface RefusedChange {
  readonly key: ResourceKey
  readonly reason: string
  /** It waits for this one. */
  readonly missingOwner?: ResourceKey
}

export interface ApplyDeps {
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: Random
  readonly store: Pick<ResourceStore, 'list' | 'writeBatch'>
  readonly writer: string
  /** Asked before each put; resolves with why it is refused. Throws when it can't be asked. */
  readonly admit?: ((draft: ResourceDraft, isNew: boolean, signal: AbortSignal) => Promise<string | undefined>) | undefined
  /** Checks a spec; throws `invalid`. */
  readonly check: (draft: ResourceDraft) => void
}

/** Attempts of a write that meets another's: at once, then twice more after at most 100 ms; then the whole is told to come again. */
const ATTEMPTS = 4
const LONGEST_WAIT_MS = 100
const GROUP = 500

/**
 * Stores what a peer sent, creates and changes before removals. What this end refuses is returned by name while the rest is
 * stored; a write that meets another's is made again on what is there by then, with the local status kept. Throws when the store or
 * the webhook can't answer, or when a conflict does not end: then the stream ends, and everything comes again.
 */
export async function applyChanges(
  deps: ApplyDeps,
  changes: readonly IncomingChange[],
  signal: AbortSignal,
): Promise<readonly RefusedChange[]> {
  const refused: RefusedChange[] = []
  const puts = changes.filter((change) => change.kind === 'put').map(({ draft }) => draft)
  const removals = changes.filter((change) => change.kind === 'remove').map(({ key }) => key)
  for (let start = 0; start < puts.length; start += GROUP) refused.push(...(await putAll(puts.slice(start, start + GROUP))))
  for (let start = 0; start < removals.length; start += GROUP) await removeAll(removals.slice(start, start + GROUP))
  return refused

  async function putAll(drafts: readonly ResourceDraft[]): Promise<readonly RefusedChange[]> {
    const refusedHere: RefusedChange[] = []
    let left: readonly ResourceDraft[] = drafts.filter((draft) => {
      const reason = faultOf(draft)
      if (reason !== undefined) refusedHere.push({ key: draft.key, reason })
      return reason === undefined
    })
    const admitted = new Set<ResourceDraft>()
    for (let attempt = 1; left.length > 0; attempt++) {
      const present = await read(left)
      const writes: { readonly draft: ResourceDraft; readonly write: Write }[] = []
      for (const draft of left) {
        const known = present.get(toKeyString(draft.key))
        const write = toWrite(draft, known)
        if (write === undefined) continue
        const reason = admitted.has(draft) ? undefined : await deps.admit?.(draft, known === undefined, signal)
        admitted.add(draft)
        if (reason === undefined) writes.push({ draft, write })
        else refusedHere.push({ key: draft.key, reason })
      }
      const results =
        writes.length === 0
          ? []
          : await deps.store.writeBatch(
              writes.map(({ write }) => write),
              { writer: deps.writer, signal },
            )
      const again: ResourceDraft[] = []
      for (const [index, { draft }] of writes.entries()) {
        const outcome = outcomeOf(draft.key, results[index])
        if (outcome === 'again') again.push(draft)
        else if (outcome !== 'stored') refusedHere.push(outcome)
      }
      if (again.length > 0 && attempt === ATTEMPTS)
        throw new CoreError('conflict', `${formatKey(again[0]!.key)} was written by another each time it was tried`, {
          details: { key: again[0]!.key },
        })
      if (again.length > 0 && attempt > 1) await deps.clock.sleep(deps.random() * LONGEST_WAIT_MS, signal)
      left = again
    }
    return refusedHere
  }

  async function removeAll(keys: readonly ResourceKey[]) {
    const results = await deps.store.writeBatch(
      keys.map((key) => ({ kind: 'delete', key }) as const),
      { writer: deps.writer, signal },
    )
    // Gone already, with its owner a moment ago, or by a name that nothing can have: that is what was wanted.
    for (const result of results)
      if (!result.ok && !isCoreError(result.error, 'not_found') && !isCoreError(result.error, 'invalid')) throw result.error
  }

  async function read(drafts: readonly ResourceDraft[]): Promise<ReadonlyMap<string, Resource>> {
    const byType = Map.groupBy(drafts, ({ key }) => key.type)
    const found: Resource[] = []
    for (const [type, ofType] of byType) {
      const { items } = await deps.store.list({ type, keys: ofType.map(({ key }) => key), limit: ofType.length }, { signal })
      found.push(...items)
    }
    return new Map(found.map((resource) => [toKeyString(resource.key), resource]))
  }

  function faultOf(draft: ResourceDraft): string | undefined {
    try {
      deps.check(draft)
      return undefined
    } catch (error) {
      if (isCoreError(error, 'invalid')) return error.message
      throw error
    }
  }
}

/** Undefined when it is there as it should be. */
function toWrite(draft: ResourceDraft, known: Resource | undefined): Write | undefined {
  if (known === undefined) return { kind: 'create', draft }
  const { spec, labels = {} } = draft
  if (isSameStored(known.spec, spec) && isSameStored(known.labels, labels)) return undefined
  return { kind: 'update', resource: { ...known, spec, labels } }
}

function outcomeOf(key: ResourceKey, result: WriteResult | undefined): 'stored' | 'again' | RefusedChange {
  if (result === undefined) throw new CoreError('internal', 'the store gave no answer for a write of a batch')
  if (result.ok) return 'stored'
  const { code, message, details } = result.error
  switch (code) {
    case 'conflict':
    case 'already_exists':
    case 'not_found':
      return 'again'
    case 'owner_missing':
      return { key, reason: message, missingOwner: details['owner'] as ResourceKey }
    case 'invalid':
    case 'unsupported':
    case 'exhausted':
    case 'forbidden':
      return { key, reason: message }
    case 'unauthorized':
    case 'unavailable':
    case 'timeout':
    case 'aborted':
    case 'internal':
      throw toCoreError(result.error)
  }
  return assertNever(code)
}

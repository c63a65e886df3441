import { type BackoffPolicy, backoffDelayMs } from '../lib/backoff.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import { isSameKey, type KeyString, type ResourceDraft, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { RefusedChange } from './apply-resources.ts'

/**
 * What this end refused and keeps: a real global counts a resource as delivered when it was sent, and never sends a refused one
 * again. So it is tried again here, with growing waits, and at once when what it waited for has come.
 */
export interface RefusedStore {
  /** Of one message: what was refused of it; all else of it is nobody's trouble any more. */
  note(tried: readonly ResourceDraft[], refused: readonly RefusedChange[]): void
  /** It is gone over there. */
  forget(key: ResourceKey): void
  /** What waits for one of these. */
  waitingFor(owners: readonly ResourceKey[]): readonly ResourceDraft[]
  list(): readonly KeptRefusal[]
  /** All is sent anew: a new connection. */
  clear(): void
}

export interface KeptRefusal extends RefusedChange {
  readonly draft: ResourceDraft
  /** Epoch ms. */
  readonly since: number
  readonly times: number
  /** Monotonic ms. */
  readonly nextTryAt: number
}

export interface RefusedStoreDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'at'>
  readonly random: Random
  readonly backoff: () => BackoffPolicy
  /** These are due: try to store them. */
  readonly retry: (drafts: readonly ResourceDraft[]) => void
}

export function createRefusedStore({ clock, random, backoff, retry }: RefusedStoreDeps): RefusedStore {
  const kept = new Map<KeyString, KeptRefusal>()
  let timer: Timer | undefined

  return {
    note(tried, refused) {
      const reasons = new Map(refused.map((each) => [toKeyString(each.key), each]))
      for (const draft of tried) {
        const id = toKeyString(draft.key)
        const refusal = reasons.get(id)
        const before = kept.get(id)
        if (refusal === undefined) {
          kept.delete(id)
          continue
        }
        const times = (before?.times ?? 0) + 1
        const nextTryAt = clock.monotonic() + backoffDelayMs(backoff(), times, random)
        kept.set(id, { ...refusal, draft, since: before?.since ?? clock.now(), times, nextTryAt })
      }
      arm()
    },
    forget(key) {
      kept.delete(toKeyString(key))
      arm()
    },
    waitingFor: (owners) =>
      [...kept.values()]
        .filter(({ missingOwner }) => missingOwner !== undefined && owners.some((owner) => isSameKey(owner, missingOwner)))
        .map(({ draft }) => draft),
    list: () => [...kept.values()],
    clear() {
      kept.clear()
      arm()
    },
  }

  function arm() {
    timer?.cancel()
    timer = undefined
    if (kept.size === 0) return
    const at = Math.min(...[...kept.values()].map(({ nextTryAt }) => nextTryAt))
    timer = clock.at(at, () => {
      const due = [...kept.values()].filter(({ nextTryAt }) => nextTryAt <= clock.monotonic())
      retry(due.map(({ draft }) => draft))
    })
  }
}

import { type BackoffPolicy } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import { deepFreeze } from '../lib/deep-freeze.ts'
import type { Random } from '../lib/random.ts'
import { type KeyString, type Resource, type ResourceDraft, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { TypeStatus } from '../model/insight.ts'
import { applyChanges, type ApplyDeps, type IncomingChange, type RefusedChange } from './apply-resources.ts'
import type { KumaResourceCodec, SyncedResource } from './kuma-resource.ts'
import { fromWireName, toWireName } from './peer-name.ts'
import { createRefusedStore, type KeptRefusal } from './refused-store.ts'
import type { WireAny } from './spec-codec.ts'

/** The receiving end of one stream: stores what comes, message by message in the order of arrival, and says how to answer. */
export interface SyncReceiver {
  /**
   * Resolves with what the answer refuses, one resource a line (`<name>.<mesh>: <reason>`), or with undefined for an ACK. Rejects when
   * the stream can't go on: the store or the webhook does not answer.
   */
  take(message: IncomingMessage): Promise<string | undefined>
  /** What was refused and is tried again here. */
  refused(): readonly KeptRefusal[]
  status(): Readonly<Record<string, TypeStatus>>
  stop(): void
}

export interface IncomingMessage {
  readonly type: string
  readonly resources: readonly { readonly name: string; readonly any: WireAny | null }[]
  readonly removed: readonly string[]
}

/** Whose resources these are, and how they are kept here. */
export interface ReceiverPolicy {
  toDraft(resource: SyncedResource): ResourceDraft
  /** Whether what is stored here came from the other side: the first message of a type is its full truth. */
  isTheirs(resource: Resource): boolean
}

export interface SyncReceiverDeps extends Omit<ApplyDeps, 'clock' | 'check'> {
  readonly clock: Clock
  readonly random: Random
  readonly codec: KumaResourceCodec
  readonly policy: ReceiverPolicy
  readonly check: ApplyDeps['check']
  readonly retryBackoff: () => BackoffPolicy
  readonly onCount: (type: string, what: 'sent' | 'ack' | 'nack') => void
  readonly onStatus: () => void
  /** A later try failed in a way that a stream would have ended with; it goes on being tried. */
  readonly onError: (what: string, error: unknown) => void
}

const PAGE = 1000

export function createSyncReceiver(deps: SyncReceiverDeps): SyncReceiver {
  const { clock, store, codec, policy } = deps
  const ending = new AbortController()
  const seen = new Set<string>()
  const statuses = new Map<string, TypeStatus>()
  let work: Promise<unknown> = Promise.resolve()
  const refusals = createRefusedStore({
    clock,
    random: deps.random,
    backoff: deps.retryBackoff,
    retry: (drafts) => void inTurn(() => tryAgain(drafts)).catch((error) => deps.onError('store what was refused before', error)),
  })

  return {
    take: (message) => inTurn(() => takeNow(message)),
    refused: refusals.list,
    status: () => Object.fromEntries(statuses.entries().map(([type, status]) => [type, deepFreeze(status)])),
    stop() {
      ending.abort()
      refusals.clear()
    },
  }

  /** One at a time, in order. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const next = work.then(task)
    work = next.catch(() => undefined)
    return next
  }

  async function takeNow({ type, resources, removed }: IncomingMessage): Promise<string | undefined> {
    ending.signal.throwIfAborted()
    const drafts: ResourceDraft[] = []
    const unreadable: string[] = []
    const named = new Set<KeyString>()
    for (const { name, any } of resources) {
      try {
        if (any === null) throw new TypeError(`${type} ${name} came without content`)
        const draft = policy.toDraft(codec.decode(type, any))
        drafts.push(draft)
        named.add(toKeyString(draft.key))
      } catch (error) {
        // One that can't be read is refused by name; the rest of the batch is stored. It is not gone, either.
        named.add(toKeyString({ type, ...fromWireName(name) }))
        unreadable.push(`${name}: ${(error as Error).message}`)
      }
    }
    const removals = removed.map((name) => ({ type, ...fromWireName(name) }))
    if (!seen.has(type)) removals.push(...(await leftOut(type, named)))
    for (const key of removals) refusals.forget(key)
    const refused = await apply(drafts, removals)
    seen.add(type)
    const lines = [...unreadable, ...refused.map(({ key, reason }) => `${toWireName(key)}: ${reason}`)]
    count(type, lines)
    return lines.length === 0 ? undefined : lines.join('\n')
  }

  async function apply(drafts: readonly ResourceDraft[], removals: readonly ResourceKey[]): Promise<readonly RefusedChange[]> {
    const changes: IncomingChange[] = [
      ...drafts.map((draft) => ({ kind: 'put', draft }) as const),
      ...removals.map((key) => ({ kind: 'remove', key }) as const),
    ]
    const refused = await applyChanges(deps, changes, ending.signal)
    refusals.note(drafts, refused)
    const stored = drafts.filter((draft) => !refused.some(({ key }) => toKeyString(key) === toKeyString(draft.key)))
    const waiting = refusals.waitingFor(stored.map(({ key }) => key))
    if (waiting.length > 0) await tryAgain(waiting)
    return refused
  }

  async function tryAgain(drafts: readonly ResourceDraft[]): Promise<void> {
    if (ending.signal.aborted) return
    try {
      await apply(drafts, [])
    } catch (error) {
      // They stay, and are tried again with the next wait.
      refusals.note(
        drafts,
        drafts.map(({ key }) => ({ key, reason: (error as Error).message })),
      )
      throw error
    } finally {
      for (const type of new Set(drafts.map(({ key }) => key.type))) refreshRejection(type)
      deps.onStatus()
    }
  }

  /** The first message of a type is the full truth: what it leaves out is gone over there. */
  async function leftOut(type: string, named: ReadonlySet<KeyString>): Promise<readonly ResourceKey[]> {
    const gone: ResourceKey[] = []
    let cursor: string | undefined
    do {
      const page = await store.list({ type, limit: PAGE, ...(cursor !== undefined && { cursor }) }, { signal: ending.signal })
      for (const resource of page.items) if (policy.isTheirs(resource) && !named.has(toKeyString(resource.key))) gone.push(resource.key)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return gone
  }

  function count(type: string, lines: readonly string[]) {
    const now = clock.now()
    const before = statuses.get(type) ?? { sent: 0, acked: 0, nacked: 0, lastAt: now }
    const isRefused = lines.length > 0
    deps.onCount(type, 'sent')
    deps.onCount(type, isRefused ? 'nack' : 'ack')
    const { rejection, ...rest } = before
    statuses.set(type, {
      ...rest,
      sent: before.sent + 1,
      acked: before.acked + (isRefused ? 0 : 1),
      nacked: before.nacked + (isRefused ? 1 : 0),
      lastAt: now,
      ...(isRefused && {
        rejection: {
          reason: lines.join('\n'),
          since: rejection?.since ?? now,
          times: (rejection?.times ?? 0) + 1,
          resources: lines.map((line) => line.slice(0, line.indexOf(': '))),
        },
      }),
      ...(!isRefused && rejection !== undefined && { recovered: { ...rejection, until: now } }),
    })
    if (!isRefused) refreshRejection(type)
    deps.onStatus()
  }

  /** What is kept and tried again here is still refused, whatever was acknowledged since. */
  function refreshRejection(type: string) {
    const status = statuses.get(type)
    if (status === undefined) return
    const kept = refusals.list().filter(({ key }) => key.type === type)
    const { rejection, ...rest } = status
    const [first] = kept
    if (first !== undefined) {
      statuses.set(type, {
        ...rest,
        rejection: {
          reason: kept.map(({ key, reason }) => `${toWireName(key)}: ${reason}`).join('\n'),
          since: Math.min(...kept.map(({ since }) => since)),
          times: Math.max(...kept.map(({ times }) => times)),
          resources: kept.map(({ key }) => toWireName(key)),
        },
      })
    } else if (rejection !== undefined) statuses.set(type, { ...rest, recovered: { ...rejection, until: clock.now() } })
  }
}

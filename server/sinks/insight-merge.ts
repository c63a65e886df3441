import { type DataplaneInsight, type Subscription, withSubscription } from '../model/insight.ts'
import { isSameStored } from '../store/json-value.ts'

/** What a sink knows of one stream and wants to see stored. */
export interface ObservedStream {
  /** The generation in it is of no account: the merge moves the stored one. */
  readonly subscription: Subscription
  /** No flush has stored it yet. */
  readonly isNew: boolean
}

export interface MergeOptions {
  /** Move the generations although nothing else changed. */
  readonly isHeartbeatDue: boolean
  /** Subscriptions kept. */
  readonly keep: number
}

/**
 * The insight with what the streams say put in; everything else in it (other streams' subscriptions, certificate times)
 * stays as it was read. The same reference when there is nothing to write. Each write moves the generation of what it
 * touches, so that a busy stream needs no heartbeat of its own to look alive.
 */
export function mergeInsight(
  present: DataplaneInsight | undefined,
  streams: readonly ObservedStream[],
  options: MergeOptions,
): DataplaneInsight {
  const before = present?.subscriptions ?? []
  let subscriptions = before
  for (const stream of streams) subscriptions = mergeStream(subscriptions, stream, options)
  return present !== undefined && subscriptions === before ? present : { ...present, subscriptions }
}

function mergeStream(
  subscriptions: readonly Subscription[],
  { subscription, isNew }: ObservedStream,
  { isHeartbeatDue, keep }: MergeOptions,
): readonly Subscription[] {
  const stored = subscriptions.find(({ id }) => id === subscription.id)
  if (stored !== undefined) {
    const isMoved = isHeartbeatDue || !isSameStored({ ...subscription, generation: stored.generation }, stored)
    return isMoved ? withSubscription(subscriptions, { ...subscription, generation: stored.generation + 1 }, keep) : subscriptions
  }
  const first = { ...subscription, generation: Math.max(1, subscription.generation) }
  return isNew || subscriptions.length === 0 ? withSubscription(subscriptions, first, keep) : putBack(subscriptions, first, keep)
}

/**
 * A stream that was stored and is not there any more: newer ones displaced it, or somebody removed it. It goes back as the
 * older one it is, where there is room; an open one may take the place of the oldest closed one, never that of an open one.
 */
function putBack(subscriptions: readonly Subscription[], older: Subscription, keep: number): readonly Subscription[] {
  if (subscriptions.length < keep) return [older, ...subscriptions]
  const oldestClosed = subscriptions.findIndex(({ disconnectedAt }) => disconnectedAt !== undefined)
  if (older.disconnectedAt !== undefined || oldestClosed === -1) return subscriptions
  return [older, ...subscriptions.toSpliced(oldestClosed, 1)]
}

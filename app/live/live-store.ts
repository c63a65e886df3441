import { isLinkFrame } from '../../server/model/live-frames.ts'
import { toKeyString } from '../../server/model/resource.ts'
import type { Counters, InsightRow, Key, LiveFrame } from '../../server/model/views.ts'
import { createLiveRows, type LiveRows } from './live-rows.ts'
import { type LiveFacts, type LiveStatus, liveStatusAt, STALE_AFTER_MS } from './live-status.ts'
import { type ClockOffset, nextClockOffset } from './server-clock.ts'

/** What the page itself brought, drawn until the feed has begun. */
export interface FirstCounters {
  readonly now: number
  readonly counters: Counters
}

/** All that is live in a tab: the counters, the rows, the server's clock and how current they are. */
export interface LiveStore {
  readonly rows: LiveRows
  /** A frame of a subscription whose scope was `scope`: of a snapshot, what is not in it is not there any more. */
  take(frame: LiveFrame, scope: readonly Key[]): void
  /** The connection was lost, or is being made again. */
  lose(): void
  counters(): Counters
  status(): LiveStatus
  /** Epoch ms by the server's clock. Stands still while nothing arrives: what is not known to go on is not shown to age. */
  now(): number
  /** When the last frame was sent, by the server's clock; when the page was made before the first. */
  lastNewsAt(): number
  subscribeCounters(listener: () => void): () => void
  /** Told when the facts behind the status change; time alone changes it too. */
  subscribeStatus(listener: () => void): () => void
}

export function createLiveStore(first: FirstCounters, monotonicNow: () => number): LiveStore {
  const rows = createLiveRows()
  const countersListeners = new Set<() => void>()
  const statusListeners = new Set<() => void>()
  const startedAt = monotonicNow()
  let counters = first.counters
  let offset: ClockOffset = first.now - startedAt
  let facts: LiveFacts = { lastFrameAt: undefined, isLost: false }

  function takeCounters(value: Counters) {
    counters = value
    tell(countersListeners)
  }

  function takeSnapshot(items: readonly InsightRow[], scope: readonly Key[]) {
    rows.put(items)
    const here = new Set(items.map(({ key }) => toKeyString(key)))
    rows.markGone(scope.filter((key) => !here.has(toKeyString(key))))
  }

  function arrived(sentAt: number) {
    const at = monotonicNow()
    offset = nextClockOffset(facts.lastFrameAt === undefined ? undefined : offset, sentAt, at)
    facts = { lastFrameAt: at, isLost: false }
    tell(statusListeners)
  }

  return {
    rows,
    take(frame, scope) {
      arrived(frame.now)
      // Of links this page shows the counters alone.
      if (isLinkFrame(frame)) return
      switch (frame.kind) {
        case 'snapshot':
          if (frame.counters !== undefined) takeCounters(frame.counters)
          if (frame.insights !== undefined) takeSnapshot(frame.insights, scope)
          return
        case 'upsert':
          if (frame.key === 'counters') takeCounters(frame.value)
          else rows.put([frame.value])
          return
        case 'remove':
          rows.markGone([frame.key])
          return
        case 'tick':
          return
      }
    },
    lose() {
      if (facts.isLost) return
      facts = { ...facts, isLost: true }
      tell(statusListeners)
    },
    counters: () => counters,
    status: () => liveStatusAt(facts, monotonicNow()),
    now: () => offset + Math.min(monotonicNow(), (facts.lastFrameAt ?? startedAt) + STALE_AFTER_MS),
    lastNewsAt: () => offset + (facts.lastFrameAt ?? startedAt),
    subscribeCounters: (listener) => join(countersListeners, listener),
    subscribeStatus: (listener) => join(statusListeners, listener),
  }
}

function tell(listeners: ReadonlySet<() => void>) {
  for (const listener of listeners) listener()
}

function join(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

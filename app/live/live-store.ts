import { isLinkFrame } from '../../server/model/live-frames.ts'
import { toKeyString } from '../../server/model/resource.ts'
import type { CountersGlance, InsightRow, Key, LiveFrame } from '../../server/model/views.ts'
import { createLiveRows, type LiveRows } from './live-rows.ts'
import { type LiveFacts, type LiveStatus, liveStatusAt, STALE_AFTER_MS } from './live-status.ts'
import { type ClockOffset, nextClockOffset } from './server-clock.ts'

/** What the page itself brought, drawn until the feed has begun. */
export interface FirstGlance {
  readonly now: number
  readonly glance: CountersGlance
}

/** What every page shows live: the counters at a glance, the rows, the server's clock and how current they are. */
export interface LiveStore {
  readonly rows: LiveRows
  /** A frame of a subscription whose scope was `scope`: of a snapshot, what is not in it is not there any more. */
  take(frame: LiveFrame, scope: readonly Key[]): void
  /** The connection was lost, or is being made again. */
  lose(): void
  glance(): CountersGlance
  status(): LiveStatus
  /** Epoch ms by the server's clock. Stands still while nothing arrives: what is not known to go on is not shown to age. */
  now(): number
  /** When the last frame was sent, by the server's clock; when the page was made before the first. */
  lastNewsAt(): number
  subscribeGlance(listener: () => void): () => void
  /** Told when the facts behind the status change; time alone changes it too. */
  subscribeStatus(listener: () => void): () => void
}

export function createLiveStore(first: FirstGlance, monotonicNow: () => number): LiveStore {
  const rows = createLiveRows()
  const glanceListeners = new Set<() => void>()
  const statusListeners = new Set<() => void>()
  const startedAt = monotonicNow()
  let glance = first.glance
  let offset: ClockOffset = first.now - startedAt
  let facts: LiveFacts = { lastFrameAt: undefined, isLost: false }

  function takeGlance(value: CountersGlance) {
    glance = value
    tell(glanceListeners)
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
      // Of links this page shows how many there are, and how they are.
      if (isLinkFrame(frame)) return
      switch (frame.kind) {
        case 'snapshot':
          takeGlance(frame.counters ?? frame.glance ?? glance)
          if (frame.insights !== undefined) takeSnapshot(frame.insights, scope)
          return
        case 'upsert':
          if (frame.key === 'counters' || frame.key === 'glance') takeGlance(frame.value)
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
    glance: () => glance,
    status: () => liveStatusAt(facts, monotonicNow()),
    now: () => offset + Math.min(monotonicNow(), (facts.lastFrameAt ?? startedAt) + STALE_AFTER_MS),
    lastNewsAt: () => offset + (facts.lastFrameAt ?? startedAt),
    subscribeGlance: (listener) => join(glanceListeners, listener),
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

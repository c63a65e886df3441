import { assertNever } from '../lib/assert-never.ts'
import type { KeyString } from '../model/resource.ts'

/**
 * What one reader of the live feed is owed. Pure: `now` is monotonic, and what changed comes in.
 *
 *      subscribed
 *          │
 *     ┌────▼─────┐   sent    ┌───────────┐
 *     │ snapshot ├──────────►│ following │ each lap: what changed, counters, a tick
 *     └────▲─────┘           └─────┬─────┘
 *          │ drained               │ too much waits for the reader: what changed is dropped
 *     ┌────┴─────┐                 │
 *     │ stalled  │◄────────────────┘
 *     └──────────┘ nothing is sent
 */
export type LiveState =
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'following'; readonly tickedAt: number; readonly countedAt: number; readonly countedRevision: number }
  | { readonly kind: 'stalled' }

export interface LiveLap {
  /** Monotonic ms. */
  readonly now: number
  /** Bytes that wait for the reader. */
  readonly bufferedBytes: number
  /** Rows of the reader's scope that changed and whose turn it is: one slot a key, however often it changed. */
  readonly changed: ReadonlySet<KeyString>
  /** Links that have something new to show; empty when links are not in its scope. */
  readonly changedLinks: ReadonlySet<string>
  /** Null: counters are not in its scope. */
  readonly countersRevision: number | null
}

export type LiveWork =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'snapshot' }
  | {
      readonly kind: 'delta'
      readonly changed: readonly KeyString[]
      readonly changedLinks: readonly string[]
      readonly counters: boolean
      readonly tick: boolean
    }

/** Above this a reader is slow: it is sent nothing more until it has read what waits for it. */
export const STALL_ABOVE_BYTES = 64 * 1024
/** At or below this it has caught up. Not 0, so that a pong in the queue does not count. */
export const DRAINED_BELOW_BYTES = 4 * 1024
/** Counters, links and ticks are looked after this often. */
export const LAP_MS = 250
/** A row is sent at most once in this time: what is written twice in a row is seen within a quarter of a second, drawing included. */
export const ROW_LAP_MS = 100
/** What changes is gathered this long: a status that a quiet sink stores at once (50 ms) is one frame, not two. */
export const GATHER_MS = 75
/** Counters go at 2 Hz while rows move (a person reads no faster), at 1 Hz while none does: ages and rates move by themselves. */
const COUNTERS_BUSY_MS = 500
const COUNTERS_QUIET_MS = 1_000
/** Promised is one every 2 s; a lap may be late. */
const TICK_MS = 1_500

/** When a row that changed is sent; `sentAt`: when it last was. Monotonic ms. */
export function rowDueAt(changedAt: number, sentAt: number | undefined, { gatherMs, rowLapMs }: RowPace): number {
  return sentAt === undefined ? changedAt + gatherMs : Math.max(changedAt + gatherMs, sentAt + rowLapMs)
}

export interface RowPace {
  readonly gatherMs: number
  readonly rowLapMs: number
}

export const initialLiveState: LiveState = { kind: 'snapshot' }

/** What to send at a lap, and the state once that is on its way. */
export function nextLiveStep(state: LiveState, lap: LiveLap): { readonly state: LiveState; readonly work: LiveWork } {
  switch (state.kind) {
    case 'snapshot':
      return lap.bufferedBytes > STALL_ABOVE_BYTES ? stall : { state: followingFrom(lap), work: { kind: 'snapshot' } }
    case 'stalled':
      return lap.bufferedBytes > DRAINED_BELOW_BYTES ? stall : { state: followingFrom(lap), work: { kind: 'snapshot' } }
    case 'following': {
      if (lap.bufferedBytes > STALL_ABOVE_BYTES) return stall
      const counters = isCountersDue(state, lap)
      const tick = lap.now - state.tickedAt >= TICK_MS
      if (lap.changed.size === 0 && lap.changedLinks.size === 0 && !counters && !tick) return { state, work: { kind: 'nothing' } }
      return {
        state: {
          kind: 'following',
          tickedAt: tick ? lap.now : state.tickedAt,
          countedAt: counters ? lap.now : state.countedAt,
          countedRevision: counters ? (lap.countersRevision ?? 0) : state.countedRevision,
        },
        work: { kind: 'delta', changed: [...lap.changed], changedLinks: [...lap.changedLinks], counters, tick },
      }
    }
    default:
      return assertNever(state)
  }
}

const stall = { state: { kind: 'stalled' }, work: { kind: 'nothing' } } as const

function followingFrom({ now, countersRevision }: LiveLap): LiveState {
  return { kind: 'following', tickedAt: now, countedAt: now, countedRevision: countersRevision ?? 0 }
}

function isCountersDue(state: Extract<LiveState, { kind: 'following' }>, lap: LiveLap): boolean {
  if (lap.countersRevision === null) return false
  const everyMs = lap.countersRevision === state.countedRevision ? COUNTERS_QUIET_MS : COUNTERS_BUSY_MS
  return lap.now - state.countedAt >= everyMs
}

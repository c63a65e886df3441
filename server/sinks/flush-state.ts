import { assertNever } from '../lib/assert-never.ts'

/**
 * When one insight is due to be written. Pure; all moments are monotonic milliseconds.
 *
 *              opened                 started                    ended: settled, nothing newer
 *   (nothing) -------> urgent ---------------------> flushing ------------------------------------> quiet
 *                        ^  ^                        |  |  ^                                          |
 *                        |  +-- ended: again, or ----+  |  +------------- started (heartbeat) --------+
 *                        |      urged meanwhile         |                                             |
 *                        |                              | ended: kept, or changed meanwhile           | changed
 *                        +---- urged ---- waiting <-----+                                             |
 *                                            ^                                                        |
 *                                            +--------------------------------------------------------+
 *
 * The rule: a first and a last flush (urgent) are due at once, or when the wait of their retry is over. Any other change is
 * due at the latest of: start of the last attempt + interval; end of the last attempt + backoff; first change + batch
 * window. A quiet insight is due at its next heartbeat. An attempt counts whatever came of it, so nothing loops hot.
 */
export type FlushState =
  /** A first or last flush is wanted; not bound by the interval. */
  | { readonly kind: 'urgent'; readonly notBefore: number; readonly changedAt: number; readonly heartbeatAt: number }
  /** All that is known is stored. */
  | { readonly kind: 'quiet'; readonly startedAt: number; readonly endedAt: number; readonly heartbeatAt: number }
  /** Something is not stored yet, the oldest of it since `changedAt`. */
  | {
      readonly kind: 'waiting'
      readonly startedAt: number
      readonly endedAt: number
      readonly heartbeatAt: number
      readonly changedAt: number
    }
  /** An attempt is under way. `takenSince`: the oldest change it carries; `changedAt`, `isUrged`: what came since it began. */
  | {
      readonly kind: 'flushing'
      readonly startedAt: number
      readonly heartbeatAt: number
      readonly takenSince: number | undefined
      readonly changedAt: number | undefined
      readonly isUrged: boolean
    }

/** What every due time is computed by. */
export interface Tempo {
  readonly intervalMs: number
  /** At most the interval. */
  readonly backoffMs: number
  readonly heartbeatMs: number
  readonly batchWindowMs: number
}

/** How an attempt ended: nothing left to do; left for the next tick; or (urgent ones) to be tried again after a wait. */
export type FlushOutcome = 'settled' | 'kept' | { readonly againInMs: number }

/** How long changes are gathered before a quiet insight is written, or the interval if that is shorter: at 0 only the store's time gathers. */
const BATCH_WINDOW_MS = 50

export interface TempoSettings {
  readonly intervalMs: number
  /** A number of ms, or anything else for a tenth of the interval. */
  readonly backoff: number | string
  readonly idleTimeoutMs: number
}

/** Whoever asks for quick saves gets a short backoff; a backoff or window beyond the interval would be a longer interval in disguise. */
export function toTempo({ intervalMs, backoff, idleTimeoutMs }: TempoSettings): Tempo {
  const backoffMs = typeof backoff === 'number' ? Math.min(backoff, intervalMs) : intervalMs / 10
  return { intervalMs, backoffMs, heartbeatMs: idleTimeoutMs / 2, batchWindowMs: Math.min(BATCH_WINDOW_MS, intervalMs) }
}

export function openedState(now: number, heartbeatAt: number): FlushState {
  return { kind: 'urgent', notBefore: now, changedAt: now, heartbeatAt }
}

/** Something changed. The oldest unsaved change counts, so a second one moves nothing. */
export function onChanged(state: FlushState, now: number): FlushState {
  switch (state.kind) {
    case 'quiet':
      return { ...state, kind: 'waiting', changedAt: now }
    case 'flushing':
      return state.changedAt === undefined ? { ...state, changedAt: now } : state
    case 'urgent':
    case 'waiting':
      return state
  }
  return assertNever(state)
}

/** A first or last flush is wanted at once. One that waits for its retry goes at once, too: there is something new to say. */
export function onUrged(state: FlushState, now: number): FlushState {
  switch (state.kind) {
    case 'urgent':
      return state.notBefore <= now ? state : { ...state, notBefore: now }
    case 'quiet':
      return { kind: 'urgent', notBefore: now, changedAt: now, heartbeatAt: state.heartbeatAt }
    case 'waiting':
      return { kind: 'urgent', notBefore: now, changedAt: state.changedAt, heartbeatAt: state.heartbeatAt }
    case 'flushing':
      return { ...state, isUrged: true, changedAt: state.changedAt ?? now }
  }
  return assertNever(state)
}

/** An attempt begins and takes all that is known. One that is under way already goes on: flushes of one insight never overlap. */
export function onStarted(state: FlushState, now: number): FlushState {
  switch (state.kind) {
    case 'flushing':
      return state
    case 'quiet':
    case 'urgent':
    case 'waiting':
      return {
        kind: 'flushing',
        startedAt: now,
        heartbeatAt: state.heartbeatAt,
        takenSince: state.kind === 'quiet' ? undefined : state.changedAt,
        changedAt: undefined,
        isUrged: false,
      }
  }
  return assertNever(state)
}

/** `heartbeatAt` counts if the attempt settled; what was not stored keeps its age. Without an attempt under way nothing happens. */
export function onEnded(
  state: FlushState,
  outcome: FlushOutcome,
  { now, heartbeatAt: nextAt }: { readonly now: number; readonly heartbeatAt: number },
): FlushState {
  if (state.kind !== 'flushing') return state
  const { startedAt } = state
  const heartbeatAt = outcome === 'settled' ? nextAt : state.heartbeatAt
  const changedAt = outcome === 'settled' ? state.changedAt : (state.takenSince ?? state.changedAt)
  if (state.isUrged) return { kind: 'urgent', notBefore: now, changedAt: changedAt ?? now, heartbeatAt }
  if (typeof outcome === 'object') return { kind: 'urgent', notBefore: now + outcome.againInMs, changedAt: changedAt ?? now, heartbeatAt }
  return changedAt === undefined
    ? { kind: 'quiet', startedAt, endedAt: now, heartbeatAt }
    : { kind: 'waiting', startedAt, endedAt: now, heartbeatAt, changedAt }
}

/** The heartbeat's period changed. (A changed interval or backoff needs no step: due times are computed from the tempo of the moment.) */
export function onHeartbeatMoved(state: FlushState, heartbeatAt: number): FlushState {
  return { ...state, heartbeatAt }
}

/** When the next attempt is due; undefined while one is under way. */
export function dueAt(state: FlushState, tempo: Tempo): number | undefined {
  switch (state.kind) {
    case 'flushing':
      return undefined
    case 'urgent':
      return state.notBefore
    case 'quiet':
      return heartbeatDueAt(state, tempo)
    case 'waiting':
      return Math.min(
        heartbeatDueAt(state, tempo),
        Math.max(state.startedAt + tempo.intervalMs, state.endedAt + tempo.backoffMs, state.changedAt + tempo.batchWindowMs),
      )
  }
  return assertNever(state)
}

/** Since when something is not stored; undefined when all is. */
export function pendingSince(state: FlushState): number | undefined {
  switch (state.kind) {
    case 'quiet':
      return undefined
    case 'urgent':
    case 'waiting':
      return state.changedAt
    case 'flushing':
      return state.takenSince ?? state.changedAt
  }
  return assertNever(state)
}

/** Whether an attempt that begins now must move the generation although nothing else changed. */
export function isHeartbeatDue(state: FlushState, now: number): boolean {
  return state.heartbeatAt <= now
}

/**
 * The first heartbeat after `after`: they lie a period apart, shifted by `phase` (0..1), so that the heartbeats of many
 * insights spread evenly over the period and stay so whatever made them write at once.
 */
export function nextHeartbeatAt(phase: number, heartbeatMs: number, after: number): number {
  const offset = phase * heartbeatMs
  const next = offset + (Math.floor((after - offset) / heartbeatMs) + 1) * heartbeatMs
  return next > after ? next : next + heartbeatMs
}

/**
 * The first heartbeat after a write that began at `startedAt`. One that would come sooner than the interval (or a tenth of
 * the period) is left out: the write has just shown that the sink lives, and all that were written at once would meet again.
 */
export function heartbeatAfterWrite(phase: number, tempo: Tempo, startedAt: number): number {
  return nextHeartbeatAt(phase, tempo.heartbeatMs, startedAt + Math.min(tempo.intervalMs, tempo.heartbeatMs / 10))
}

/** A fixed, evenly spread number in [0, 1) for a key (FNV-1a with a final mix). */
export function phaseOf(key: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/**
 * A heartbeat keeps to the interval, too, as long as the interval leaves it room. Where the interval is longer than half a
 * heartbeat, liveness wins: else other instances would take a live stream for dead.
 */
function heartbeatDueAt(
  state: { readonly startedAt: number; readonly endedAt: number; readonly heartbeatAt: number },
  tempo: Tempo,
): number {
  const halfMs = tempo.heartbeatMs / 2
  return Math.max(
    state.heartbeatAt,
    state.startedAt + Math.min(tempo.intervalMs, halfMs),
    state.endedAt + Math.min(tempo.backoffMs, halfMs),
  )
}

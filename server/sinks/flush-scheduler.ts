import { type Clock, type Timer, yieldToEventLoop } from '../lib/clock.ts'
import { deadlineSignal, linkedController } from '../lib/signals.ts'
import type { Tunable } from '../lib/tunable.ts'
import { createDueQueue, type DueItem } from './due-queue.ts'
import {
  dueAt,
  type FlushOutcome,
  type FlushState,
  heartbeatAfterWrite,
  isHeartbeatDue,
  nextHeartbeatAt,
  onChanged,
  onEnded,
  onHeartbeatMoved,
  onStarted,
  onUrged,
  openedState,
  pendingSince,
  phaseOf,
  toTempo,
} from './flush-state.ts'

/**
 * Decides when each of any number of keys is written, with one timer for all (the rule is in flush-state.ts). What is due is
 * handed to `flushGroup` in groups sorted by key, several at a time (the store writes some while others are made ready or told
 * of), with a turn of the event loop between two: a group is small enough that nobody feels it. A first or last flush goes before the next group. All deadlines are absolute and monotonic: neither the store's time nor a jump of
 * the wall clock shifts them, and however many ticks were missed, one attempt makes up for them.
 *
 * A changed interval, backoff or idle timeout moves every due time at once, so that no attempt happens at a time computed
 * from an old one.
 */
export interface FlushScheduler<K extends string> {
  /** A first or last flush: due at once. Takes the key in if it is new. */
  urge(key: K): void
  /** There is something new to store. Keys that are not here are ignored. */
  changed(key: K): void
  /** No more flushes of it; one under way goes on, and a new `urge` waits for its end. */
  remove(key: K): void
  /** Monotonic moment of the key's next attempt; undefined while one is under way or when it is not here. */
  nextDueAt(key: K): number | undefined
  /** Monotonic moment of the earliest attempt of all. */
  earliestDueAt(): number | undefined
  size(): number
  /** Whether a change of the interval is still on its way into effect (see `onInEffect`). */
  isRetuning(part: TempoPart): boolean
  /** Flushes until aborted; resolves when the group under way has ended. */
  run(signal: AbortSignal): Promise<void>
}

export type TempoPart = 'interval' | 'backoff' | 'idleTimeout'

export interface FlushItem<K extends string> {
  readonly key: K
  /** Monotonic moment of the oldest change that is not stored; undefined when only a heartbeat is due. */
  readonly since: number | undefined
  readonly isHeartbeatDue: boolean
}

export interface FlushSchedulerDeps<K extends string> {
  readonly clock: Clock
  readonly intervalMs: Tunable<number>
  /** "auto" = a tenth of the interval; a number is capped at the interval. */
  readonly backoffMs: Tunable<number | string>
  /** A heartbeat is due every half of it. */
  readonly idleTimeoutMs: Tunable<number>
  /**
   * Tries to store a group; outcome i answers item i. It has to end when the signal aborts (the group took too long, or we
   * stop). If it rejects, every item is kept for its next tick.
   */
  readonly flushGroup: (group: readonly FlushItem<K>[], signal: AbortSignal) => Promise<readonly FlushOutcome[]>
  /**
   * A changed setting is in effect for all keys. Precisely: every key that had something waiting or being written when the
   * setting changed has since ended an attempt or gone; for all others it was in effect at once, as their due times were
   * recomputed by it. That takes at most one new interval plus the store's time. A later change of the same setting takes
   * the place of one still on its way, which is then never reported. Called in a turn of its own, never inside the change.
   */
  readonly onInEffect: (part: TempoPart, effect: { readonly afterMs: number; readonly sessions: number }) => void
  /** The oldest change of a key that is not stored has another moment now (monotonic); undefined: all is stored, or the key has gone. */
  readonly onPending?: (key: K, since: number | undefined) => void
  /** A group failed as a whole: a bug in `flushGroup`. */
  readonly onFault: (error: unknown) => void
}

export interface FlushSchedulerOptions {
  /** Keys a group has at most: they hold the event loop for about 20 us each. Default 125. */
  readonly groupSize?: number
  /** Default 8: what the store writes, and as much again that is made ready meanwhile. More would only wait there. */
  readonly groupsAtATime?: number
  /** A group that takes longer is aborted. Default 30 s. */
  readonly groupTimeoutMs?: number
}

interface Entry<K extends string> extends DueItem {
  readonly key: K
  readonly phase: number
  state: FlushState
  /** Removed while an attempt is under way. */
  isLeaving: boolean
  /** The round it waits in for its group; 0 when it waits in none. */
  round: number
}

interface Round<K extends string> {
  readonly id: number
  readonly members: readonly Entry<K>[]
  readonly startedAt: number
  place: number
  /** Groups of it that have not ended. */
  underWay: number
}

interface Group<K extends string> {
  readonly members: readonly Entry<K>[]
  /** undefined: first and last flushes. */
  readonly round: Round<K> | undefined
}

interface Adoption<K extends string> {
  readonly startedAt: number
  readonly left: Set<Entry<K>>
}

export function createFlushScheduler<K extends string>(
  deps: FlushSchedulerDeps<K>,
  { groupSize = 125, groupsAtATime = 8, groupTimeoutMs = 30_000 }: FlushSchedulerOptions = {},
): FlushScheduler<K> {
  const { clock } = deps
  const entries = new Map<K, Entry<K>>()
  const urgents = createDueQueue<Entry<K>>()
  const ticks = createDueQueue<Entry<K>>()
  /** All that was due by tick when it began, sorted by key, from `place` on not yet begun. A retune ends it: everything is placed anew. */
  let round: Round<K> | undefined
  let rounds = 0
  /** After a round that took longer than the interval, ticks wait for the backoff: air for the store. */
  let ticksNotBefore = Number.NEGATIVE_INFINITY
  const adoptions = new Map<TempoPart, Adoption<K>>()
  let tempo = readTempo()
  let timer: Timer | undefined
  let timerAt = Number.POSITIVE_INFINITY
  let stop: AbortSignal | undefined
  const underWay = new Set<Promise<void>>()
  let isBetweenGroups = false

  return {
    urge(key) {
      const now = clock.monotonic()
      const known = entries.get(key)
      if (known === undefined) {
        const phase = phaseOf(key)
        const state = openedState(now, heartbeatAfterWrite(phase, tempo, now))
        const entry: Entry<K> = { key, phase, state, isLeaving: false, round: 0, queue: undefined, place: 0, dueAt: 0 }
        entries.set(key, entry)
        deps.onPending?.(key, now)
        place(entry)
      } else {
        known.isLeaving = false
        enter(known, onUrged(known.state, now))
        place(known)
      }
      arm()
    },
    changed(key) {
      const entry = entries.get(key)
      if (entry === undefined) return
      const { kind } = entry.state
      enter(entry, onChanged(entry.state, clock.monotonic()))
      if (entry.state.kind === kind) return
      place(entry)
      arm()
    },
    remove(key) {
      const entry = entries.get(key)
      if (entry === undefined) return
      if (entry.state.kind === 'flushing') entry.isLeaving = true
      else drop(entry)
    },
    nextDueAt(key) {
      const entry = entries.get(key)
      return entry === undefined ? undefined : dueAt(entry.state, tempo)
    },
    earliestDueAt: nextWakeAt,
    size: () => entries.size,
    isRetuning: (part) => adoptions.has(part),
    async run(signal) {
      if (signal.aborted) return
      stop = signal
      tempo = readTempo()
      rescheduleAll()
      deps.intervalMs.watch(() => retune('interval'), signal)
      deps.backoffMs.watch(() => retune('backoff'), signal)
      deps.idleTimeoutMs.watch(() => retune('idleTimeout'), signal)
      arm()
      await aborted(signal)
      disarm()
      stop = undefined
      await Promise.all(underWay)
    },
  }

  function readTempo() {
    return toTempo({ intervalMs: deps.intervalMs.get(), backoff: deps.backoffMs.get(), idleTimeoutMs: deps.idleTimeoutMs.get() })
  }

  function retune(part: TempoPart): void {
    const now = clock.monotonic()
    const { heartbeatMs } = tempo
    tempo = readTempo()
    if (tempo.heartbeatMs !== heartbeatMs) {
      for (const entry of entries.values())
        entry.state = onHeartbeatMoved(entry.state, nextHeartbeatAt(entry.phase, tempo.heartbeatMs, now))
    }
    ticksNotBefore = Math.min(ticksNotBefore, now + tempo.backoffMs)
    rescheduleAll()
    const left = new Set<Entry<K>>()
    if (part !== 'idleTimeout') for (const entry of entries.values()) if (entry.state.kind !== 'quiet') left.add(entry)
    const adoption = { startedAt: now, left }
    adoptions.set(part, adoption)
    if (left.size === 0) queueMicrotask(() => finish(part, adoption))
    arm()
  }

  function rescheduleAll(): void {
    round = undefined
    ticks.rebuild(entries.values(), ({ state }) => (state.kind === 'urgent' ? undefined : dueAt(state, tempo)))
  }

  function finish(part: TempoPart, adoption: Adoption<K>): void {
    if (adoptions.get(part) !== adoption) return
    adoptions.delete(part)
    deps.onInEffect(part, { afterMs: clock.monotonic() - adoption.startedAt, sessions: entries.size })
  }

  function adopted(entry: Entry<K>): void {
    for (const [part, adoption] of adoptions) if (adoption.left.delete(entry) && adoption.left.size === 0) finish(part, adoption)
  }

  function enter(entry: Entry<K>, next: FlushState): void {
    const before = pendingSince(entry.state)
    entry.state = next
    const since = pendingSince(next)
    if (since !== before) deps.onPending?.(entry.key, since)
  }

  /** Into the queue its state belongs to. An entry of the present round stays in it unless it has become urgent. */
  function place(entry: Entry<K>): void {
    switch (entry.state.kind) {
      case 'flushing':
        return
      case 'urgent':
        entry.round = 0
        ticks.remove(entry)
        urgents.put(entry, entry.state.notBefore)
        return
      case 'quiet':
      case 'waiting':
        if (isInRound(entry)) return
        urgents.remove(entry)
        ticks.put(entry, dueAt(entry.state, tempo) as number)
    }
  }

  function drop(entry: Entry<K>): void {
    entries.delete(entry.key)
    entry.round = 0
    urgents.remove(entry)
    ticks.remove(entry)
    if (pendingSince(entry.state) !== undefined) deps.onPending?.(entry.key, undefined)
    adopted(entry)
  }

  function nextWakeAt(): number | undefined {
    const urgent = urgents.peekDueAt()
    const tick = ticks.peekDueAt()
    if (tick === undefined) return urgent
    return Math.min(urgent ?? Number.POSITIVE_INFINITY, Math.max(tick, ticksNotBefore))
  }

  /** When the next group can begin, if another can at all: what is left of a round goes on at once, and the next round waits for its end. */
  function nextStartAt(): number | undefined {
    if (round === undefined) return nextWakeAt()
    return round.place < round.members.length ? Number.NEGATIVE_INFINITY : urgents.peekDueAt()
  }

  function arm(): void {
    if (stop === undefined || isBetweenGroups) return
    const startAt = underWay.size < groupsAtATime ? nextStartAt() : undefined
    if (startAt === timerAt) return
    disarm()
    if (startAt === undefined) return
    timerAt = startAt
    timer = clock.at(startAt, () => {
      timer = undefined
      timerAt = Number.POSITIVE_INFINITY
      startNext()
    })
  }

  function disarm(): void {
    timer?.cancel()
    timer = undefined
    timerAt = Number.POSITIVE_INFINITY
  }

  function startNext(): void {
    const group = stop !== undefined && underWay.size < groupsAtATime ? nextGroup() : undefined
    if (group === undefined || stop === undefined) return arm()
    const flushing = flush(group, stop).finally(() => {
      underWay.delete(flushing)
      arm()
    })
    underWay.add(flushing)
    void startAfterOthers()
  }

  /** Others get their turn of the event loop first. */
  async function startAfterOthers(): Promise<void> {
    isBetweenGroups = true
    await yieldToEventLoop()
    isBetweenGroups = false
    startNext()
  }

  function nextGroup(): Group<K> | undefined {
    const now = clock.monotonic()
    const urgent = urgents.takeDue(now, groupSize)
    if (urgent.length > 0) return { members: urgent.toSorted(byKey), round: undefined }
    if (round === undefined && now >= ticksNotBefore) beginRound(now)
    const current = round
    if (current === undefined) return undefined
    const members: Entry<K>[] = []
    for (; current.place < current.members.length && members.length < groupSize; current.place++) {
      const entry = current.members[current.place] as Entry<K>
      if (isInRound(entry)) members.push(entry)
    }
    if (members.length > 0) return { members, round: current }
    endRound(current, now)
    return undefined
  }

  function beginRound(now: number): void {
    const members = ticks.takeDue(now, Number.POSITIVE_INFINITY).toSorted(byKey)
    const id = ++rounds
    for (const entry of members) entry.round = id
    if (members.length > 0) round = { id, members, startedAt: now, place: 0, underWay: 0 }
  }

  function isInRound(entry: Entry<K>): boolean {
    return round !== undefined && entry.round === round.id
  }

  /** Once all of it has been stored. */
  function endRound(ended: Round<K>, now: number): void {
    if (ended.underWay > 0 || ended.place < ended.members.length || round !== ended) return
    if (now - ended.startedAt > tempo.intervalMs) ticksNotBefore = now + tempo.backoffMs
    round = undefined
  }

  async function flush({ members, round: inRound }: Group<K>, stopping: AbortSignal): Promise<void> {
    const startedAt = clock.monotonic()
    if (inRound !== undefined) inRound.underWay++
    const items = members.map((entry): FlushItem<K> => {
      const item = { key: entry.key, since: pendingSince(entry.state), isHeartbeatDue: isHeartbeatDue(entry.state, startedAt) }
      enter(entry, onStarted(entry.state, startedAt))
      entry.round = 0
      return item
    })
    const deadline = deadlineSignal(clock, groupTimeoutMs)
    const link = linkedController(deadline.signal, stopping)
    let outcomes: readonly FlushOutcome[] = []
    try {
      outcomes = await deps.flushGroup(items, link.signal)
    } catch (error) {
      deps.onFault(error)
    } finally {
      link.release()
      deadline.release()
    }
    const now = clock.monotonic()
    for (const [index, entry] of members.entries()) {
      const heartbeatAt = heartbeatAfterWrite(entry.phase, tempo, startedAt)
      const ended = onEnded(entry.state, outcomes[index] ?? 'kept', { now, heartbeatAt })
      enter(entry, ended)
      if (entry.isLeaving) drop(entry)
      else {
        place(entry)
        adopted(entry)
      }
    }
    if (inRound !== undefined) {
      inRound.underWay--
      endRound(inRound, now)
    }
  }
}

function byKey<K extends string>(a: Entry<K>, b: Entry<K>): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

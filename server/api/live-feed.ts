import { assertNever } from '../lib/assert-never.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import type { Attention } from '../link/attention.ts'
import type { LinkRegistry } from '../link/link-registry.ts'
import { toGlance } from '../model/counters-glance.ts'
import { placesOf } from '../model/observed-insight.ts'
import { type KeyString, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { Counters, LiveFrame } from '../model/views.ts'
import type { SlowReaders } from '../telemetry/slow-readers.ts'
import type { InsightBoard } from '../sinks/insight-board.ts'
import {
  GATHER_MS,
  initialLiveState,
  LAP_MS,
  type LiveState,
  type LiveWork,
  nextLiveStep,
  ROW_LAP_MS,
  rowDueAt,
  STALL_ABOVE_BYTES,
} from './live-state.ts'

/** The live side of the API: any number of subscriptions over one listener on the board and two timers. */
export interface LiveFeed {
  /**
   * Frames of one scope until the reader's signal aborts or the feed closes: a snapshot first, then what changes in it. Throws
   * `exhausted` when there are too many subscriptions (in all, or on one connection), `unavailable` when the process stops.
   */
  subscribe(scope: LiveScope, reader: LiveReader): AsyncGenerator<LiveFrame, void, undefined>
  /** Subscriptions now open. */
  size(): number
  /** Ends every subscription; later ones are refused. Idempotent. */
  close(): void
}

export interface LiveScope {
  /** `glance`: the part of them that every page shows. */
  readonly counters?: boolean | 'glance' | undefined
  /** The rows on screen. */
  readonly insights?: readonly ResourceKey[] | undefined
  /** All links. */
  readonly links?: boolean | undefined
}

export interface LiveReader {
  /** Whatever stands for the reader's connection: subscriptions are bounded per connection. */
  readonly connection: object
  /** Bytes that wait for the reader in this process. */
  bufferedAmount(): number
  readonly signal: AbortSignal | undefined
}

export interface LiveFeedDeps {
  readonly board: Pick<InsightBoard, 'rows' | 'onChange'>
  readonly links: Pick<LinkRegistry, 'list' | 'row' | 'onChange' | 'revisions'>
  /** Told what is on screen of what links bring. */
  readonly attention: Pick<Attention, 'hold'>
  readonly counters: () => Counters
  readonly readers: Pick<SlowReaders, 'stalled'>
  readonly clock: Clock
}

export interface LiveFeedOptions {
  /** How often counters, links and ticks are looked after. Default 250. */
  readonly lapMs?: number
  /** A row that was sent is sent again this much later at the earliest, the newest of it. Default 100, or `lapMs` if that is less. */
  readonly rowLapMs?: number
  /** How long changes of a row that was not sent lately are gathered. Default 75, or `rowLapMs` if that is less. */
  readonly gatherMs?: number
  /** Default 2,000: at most 64 KB each wait in this process. */
  readonly maxSubscriptions?: number
  /** Default 16: a page needs one, or one per part. */
  readonly maxPerConnection?: number
}

const COUNTERS_SHARED_MS = 50
/** Counts and rates of links go out at 1 Hz; what they do goes with the next lap. */
const LINKS_COUNTED_MS = 1_000
/** Rows that are due within one step of this go together. */
const TURN_STEP_MS = 25

/** One subscription while it is open. */
interface Entry {
  readonly keys: ReadonlyMap<KeyString, ResourceKey>
  readonly scope: LiveScope
  readonly reader: LiveReader
  /** When each row of the scope that has changed is to be sent, and when each was last sent. Monotonic ms. */
  readonly due: Map<KeyString, number>
  readonly sentAt: Map<KeyString, number>
  readonly changedLinks: Set<string>
  state: LiveState
  /** Ends the look at what links bring. */
  readonly looks: readonly (() => void)[]
  /** While it is stalled: ends that. */
  stallOver: (() => void) | undefined
  isOver: boolean
  wake: () => void
}

export function createLiveFeed(
  { board, links, attention, counters, readers, clock }: LiveFeedDeps,
  options: LiveFeedOptions = {},
): LiveFeed {
  const { lapMs = LAP_MS, rowLapMs = Math.min(ROW_LAP_MS, lapMs), gatherMs = Math.min(GATHER_MS, rowLapMs) } = options
  const { maxSubscriptions = 2_000, maxPerConnection = 16 } = options
  const entries = new Set<Entry>()
  const perConnection = new Map<object, number>()
  /** Who has a key on screen: a change costs a look-up, however many subscriptions there are. */
  const interested = new Map<KeyString, Set<Entry>>()
  let isClosed = false
  /** Moves with every change of any row. */
  let revision = 0
  let counted: { readonly at: number; readonly value: Counters } | undefined
  let linksSeen: { readonly at: number; readonly revisions: ReadonlyMap<string, number> } = { at: -Infinity, revisions: new Map() }
  let running: { readonly listening: AbortController; timer: Timer; dueAt: number } | undefined
  /** Set while a row waits for its turn. */
  let turn: { readonly timer: Timer; readonly at: number } | undefined

  function onRowChange(key: ResourceKey): void {
    revision++
    const keyString = toKeyString(key)
    const watching = interested.get(keyString)
    if (watching === undefined) return
    const changedAt = clock.monotonic()
    for (const { due, sentAt } of watching) {
      if (due.has(keyString)) continue
      const dueAt = rowDueAt(changedAt, sentAt.get(keyString), { gatherMs, rowLapMs })
      due.set(keyString, dueAt)
      takeTurnAt(dueAt)
    }
  }

  function takeTurnAt(dueAt: number): void {
    const at = Math.ceil(dueAt / TURN_STEP_MS) * TURN_STEP_MS
    if (turn !== undefined && turn.at <= at) return
    turn?.timer.cancel()
    turn = { at, timer: clock.at(at, takeTurn) }
  }

  /** Wakes who has rows to send, and waits for the next of the others. */
  function takeTurn(): void {
    turn = undefined
    const now = clock.monotonic()
    let next = Number.POSITIVE_INFINITY
    for (const { due, wake } of entries) {
      let isDue = false
      for (const dueAt of due.values())
        if (dueAt <= now) isDue = true
        else next = Math.min(next, dueAt)
      if (isDue) wake()
    }
    if (next !== Number.POSITIVE_INFINITY) takeTurnAt(next)
  }

  function onLinkChange(id: string): void {
    revision++
    for (const entry of entries) if (entry.scope.links === true) entry.changedLinks.add(id)
  }

  /** Links whose counts or rates moved since the last look, told to all who follow links. */
  function lookAtLinks(): void {
    const now = clock.monotonic()
    if (now - linksSeen.at < LINKS_COUNTED_MS || !entries.values().some(({ scope }) => scope.links === true)) return
    const seen = new Map<string, number>()
    for (const [id, { revision: linkRevision, isMoving }] of links.revisions()) {
      if (isMoving || linksSeen.revisions.get(id) !== linkRevision) onLinkChange(id)
      seen.set(id, linkRevision)
    }
    linksSeen = { at: now, revisions: seen }
  }

  /** Made once for all who are due in the same lap, or come back together after an outage. */
  function countersNow(): Counters {
    const at = clock.monotonic()
    if (counted === undefined || at - counted.at > COUNTERS_SHARED_MS) counted = { at, value: counters() }
    return counted.value
  }

  function lap(): void {
    if (running === undefined) return
    lookAtLinks()
    for (const entry of entries) entry.wake()
    // What was slept through (a stopped process) is one lap, not many.
    running.dueAt = Math.max(running.dueAt + lapMs, clock.monotonic())
    running.timer = clock.at(running.dueAt, lap)
  }

  function open(scope: LiveScope, reader: LiveReader): Entry {
    const keys = new Map((scope.insights ?? []).map((key) => [toKeyString(key), key]))
    const entry: Entry = {
      keys,
      scope,
      reader,
      due: new Map(),
      sentAt: new Map(),
      changedLinks: new Set(),
      looks: placesOf(keys.values()).map(([link, mesh]) => attention.hold(link, mesh)),
      state: initialLiveState,
      stallOver: undefined,
      isOver: false,
      wake: () => {},
    }
    entries.add(entry)
    perConnection.set(reader.connection, (perConnection.get(reader.connection) ?? 0) + 1)
    for (const keyString of keys.keys()) interested.getOrInsertComputed(keyString, () => new Set()).add(entry)
    if (running === undefined) {
      const dueAt = clock.monotonic() + lapMs
      running = { listening: new AbortController(), timer: clock.at(dueAt, lap), dueAt }
      board.onChange(onRowChange, running.listening.signal)
      links.onChange(onLinkChange, running.listening.signal)
    }
    return entry
  }

  function enter(entry: Entry, state: LiveState): void {
    entry.state = state
    if (state.kind === 'stalled') entry.stallOver ??= readers.stalled()
    else {
      entry.stallOver?.()
      entry.stallOver = undefined
    }
  }

  function release(entry: Entry): void {
    entries.delete(entry)
    entry.stallOver?.()
    for (const lookAway of entry.looks) lookAway()
    const left = (perConnection.get(entry.reader.connection) ?? 1) - 1
    if (left === 0) perConnection.delete(entry.reader.connection)
    else perConnection.set(entry.reader.connection, left)
    for (const keyString of entry.keys.keys()) {
      const watching = interested.get(keyString)
      watching?.delete(entry)
      if (watching?.size === 0) interested.delete(keyString)
    }
    if (entries.size > 0) return
    running?.listening.abort()
    running?.timer.cancel()
    running = undefined
    turn?.timer.cancel()
    turn = undefined
    counted = undefined
  }

  async function* follow(scope: LiveScope, reader: LiveReader): AsyncGenerator<LiveFrame, void, undefined> {
    const entry = open(scope, reader)
    const end = () => {
      entry.isOver = true
      entry.wake()
    }
    reader.signal?.addEventListener('abort', end, { once: true })
    if (reader.signal?.aborted === true || isClosed) end()
    try {
      while (!entry.isOver) {
        const nextLap = new Promise<void>((resolve) => (entry.wake = resolve))
        const now = clock.monotonic()
        const step = nextLiveStep(entry.state, {
          now,
          bufferedBytes: reader.bufferedAmount(),
          changed: rowsDue(entry, now),
          changedLinks: entry.changedLinks,
          countersRevision: (scope.counters ?? false) === false ? null : revision,
        })
        enter(entry, step.state)
        entry.changedLinks.clear()
        // Who gets a snapshot, now or later, gets all of it there.
        if (step.work.kind === 'snapshot' || step.state.kind === 'stalled') entry.due.clear()
        yield* frames(entry, step.work)
        if (!entry.isOver) await nextLap
      }
    } finally {
      reader.signal?.removeEventListener('abort', end)
      release(entry)
    }
  }

  function* frames(entry: Entry, work: LiveWork): Generator<LiveFrame, void, undefined> {
    switch (work.kind) {
      case 'nothing':
        return
      case 'snapshot':
        yield {
          kind: 'snapshot',
          now: clock.now(),
          ...(entry.scope.counters === true && { counters: countersNow() }),
          ...(entry.scope.counters === 'glance' && { glance: toGlance(countersNow()) }),
          ...(entry.scope.insights !== undefined && { insights: board.rows([...entry.keys.values()]) }),
          ...(entry.scope.links === true && { links: links.list() }),
        }
        return
      case 'delta':
        for (const frame of deltas(entry, work)) {
          yield frame
          if (entry.isOver) return
          if (entry.reader.bufferedAmount() > STALL_ABOVE_BYTES) {
            enter(entry, { kind: 'stalled' })
            return
          }
        }
        return
      default:
        assertNever(work)
    }
  }

  /** Each row is read when it is its turn, so that what is sent is never older than the moment of sending. */
  function* deltas(entry: Entry, work: Extract<LiveWork, { kind: 'delta' }>): Generator<LiveFrame, void, undefined> {
    for (const keyString of work.changed) {
      const key = entry.keys.get(keyString)
      if (key === undefined) continue
      const [value] = board.rows([key])
      entry.sentAt.set(keyString, clock.monotonic())
      yield value === undefined ? { kind: 'remove', now: clock.now(), key } : { kind: 'upsert', now: clock.now(), key, value }
    }
    for (const link of work.changedLinks) {
      const value = links.row(link)
      const key = { link }
      yield value === undefined ? { kind: 'remove', now: clock.now(), key } : { kind: 'upsert', now: clock.now(), key, value }
    }
    if (work.counters)
      yield entry.scope.counters === 'glance'
        ? { kind: 'upsert', now: clock.now(), key: 'glance', value: toGlance(countersNow()) }
        : { kind: 'upsert', now: clock.now(), key: 'counters', value: countersNow() }
    if (work.tick) yield { kind: 'tick', now: clock.now() }
  }

  return {
    subscribe(scope, reader) {
      if (isClosed) throw new CoreError('unavailable', 'Tidewatch is stopping; subscribe again when it is back')
      if (entries.size >= maxSubscriptions)
        throw new CoreError(
          'exhausted',
          `${maxSubscriptions} live subscriptions are open, which is all this process takes; close some pages`,
        )
      if ((perConnection.get(reader.connection) ?? 0) >= maxPerConnection)
        throw new CoreError('exhausted', `a connection carries at most ${maxPerConnection} live subscriptions; end some first`)
      return follow(scope, reader)
    },
    size: () => entries.size,
    close() {
      isClosed = true
      for (const entry of entries) {
        entry.isOver = true
        entry.wake()
      }
    },
  }
}

/** Takes out the rows whose turn it is. */
function rowsDue({ due }: Entry, now: number): ReadonlySet<KeyString> {
  const taken = new Set<KeyString>()
  for (const [keyString, dueAt] of due) if (dueAt <= now) taken.add(keyString)
  for (const keyString of taken) due.delete(keyString)
  return taken
}

import type { Clock, Timer } from '../lib/clock.ts'
import { createDeltaSession, type DiscoverySession } from '../discovery/discovery-session.ts'
import type { DeltaRequest } from '../discovery/delta-state.ts'
import type { TypeStatus } from '../model/insight.ts'
import type { Delivery } from './delivery.ts'
import type { SyncDirectory, SyncResource } from './sync-directory.ts'

/** The sending end of one stream: what a peer asked for, is sent, and answered. Both directions are the same. */
export interface SyncSender {
  handle(type: string, request: DeltaRequest): void
  /** What there is has changed: it goes with the next tick. */
  changed(): void
  /** All of it (or one type) again at once, what is held back included. */
  resync(type?: string): void
  /** The peer reads again. */
  drained(): void
  status(): Readonly<Record<string, TypeStatus>>
  /** Types whose newest answer the peer has not answered. */
  unanswered(): ReadonlySet<string>
  /** When what was refused is tried again (monotonic ms). */
  retryAt(): number | undefined
  stop(end: { readonly reason: string; readonly byUs: boolean }): void
}

/** What goes out. */
export interface SyncAnswer {
  readonly type: string
  readonly nonce: string
  readonly resources: readonly SyncResource[]
  readonly removed: readonly string[]
}

export interface SyncSenderDeps {
  readonly clock: Clock
  readonly directory: SyncDirectory
  readonly delivery: Delivery
  /** In the order they go: owners before what they own. */
  readonly types: readonly string[]
  readonly hashSuffix: boolean
  /** How often at most changes are sent; the first after a quiet time goes at once. */
  readonly flushIntervalMs: () => number
  readonly fullResyncMs: () => number
  /** False when the peer does not read: what comes then waits, and is one push of the newest when it is `drained`. */
  readonly write: (answer: SyncAnswer) => boolean
  readonly onCount: (type: string, what: 'sent' | 'ack' | 'nack') => void
  /** From the first change that an answer carries to its acknowledgement. */
  readonly onDelivered: (type: string, seconds: number) => void
  readonly onStatus: () => void
  /** A fault of ours: the stream can't go on. */
  readonly onFault: (error: unknown) => void
}

/** First requests come all at once, in no order: they are gathered for a moment and answered owners first. */
const OPENING_MS = 20
/** What belongs together is made within moments: a mesh and its policies go in one flush. */
const BATCH_MS = 50
/** Types that ended an earlier connection wait for the others at most so long. */
const OPEN_LAST_WITHIN_MS = 10_000

export function createSyncSender(deps: SyncSenderDeps): SyncSender {
  const { clock, directory, delivery, types, hashSuffix } = deps
  const openedAt = clock.monotonic()
  const session: DiscoverySession<SyncResource> = createDeltaSession<SyncResource>({
    presentOf: (type) => directory.presentOf(type, hashSuffix),
    types: types.map((type) => ({ type, short: type, hasFullSet: true })),
    clock,
    // What was refused is held back by the delivery, by one deadline for the stream.
    nackBackoffMs: () => 0,
    isHeldBack: delivery.isHeldBack,
    onCount: deps.onCount,
  })
  const opening = new Map<string, DeltaRequest>()
  const opened = new Set<string>()
  const sentAt = new Map<string, { readonly type: string; readonly since: number }>()
  const timers = new Map<'opening' | 'flush' | 'retry' | 'resync', Timer>()
  let changedAt: number | undefined
  let pushedAt = -Infinity
  let isStopped = false
  let isBlocked = false
  /** What a peer that does not read is sent once it does. */
  let owed: 'nothing' | 'push' | 'resync' = 'nothing'
  delivery.opened()
  arm('resync', openedAt + deps.fullResyncMs(), fullResync)

  return {
    handle(type, request) {
      if (!types.includes(type)) return
      if (opened.has(type)) return settle(type, request)
      // What is not ours stays unanswered until it is.
      opening.set(type, request)
      if (directory.owns(type) && !timers.has('opening')) arm('opening', clock.monotonic() + OPENING_MS, open)
    },
    changed() {
      changedAt ??= clock.monotonic()
      if (!timers.has('opening') && [...opening.keys()].some(directory.owns)) arm('opening', clock.monotonic() + OPENING_MS, open)
      if (!timers.has('flush')) arm('flush', Math.max(changedAt + BATCH_MS, pushedAt + deps.flushIntervalMs()), push)
    },
    resync,
    drained() {
      if (!isBlocked || isStopped) return
      isBlocked = false
      const due = owed
      owed = 'nothing'
      if (due === 'resync') resync()
      else if (due === 'push') push()
      else takeTurns()
    },
    status: () => Object.fromEntries(Object.entries(session.status()).map(([type, status]) => [type, withSuspects(type, status)])),
    unanswered: session.unanswered,
    retryAt: delivery.deadline,
    stop({ reason, byUs }) {
      if (isStopped) return
      isStopped = true
      for (const timer of timers.values()) timer.cancel()
      timers.clear()
      delivery.ended({ now: clock.monotonic(), reason, byUs })
    },
  }

  /** Owners first; a type that ended an earlier connection when all others are settled. */
  function open() {
    for (const type of types) {
      const request = opening.get(type)
      const mayWait = clock.monotonic() - openedAt < OPEN_LAST_WITHIN_MS
      if (request === undefined || !directory.owns(type) || (mayWait && !delivery.mayOpen(type))) continue
      opening.delete(type)
      opened.add(type)
      takeTurn(type)
      write(session.handle(type, request))
      takeTurns()
    }
    if ([...opening.keys()].some(directory.owns))
      arm('opening', Math.max(openedAt + OPEN_LAST_WITHIN_MS, clock.monotonic() + OPENING_MS), open)
    deps.onStatus()
  }

  function settle(type: string, request: DeltaRequest) {
    const { nonce, rejection } = request
    const sent = sentAt.get(nonce)
    if (sent !== undefined) {
      sentAt.delete(nonce)
      delivery.settled(nonce, rejection, clock.monotonic())
      if (rejection === undefined) deps.onDelivered(type, (clock.monotonic() - sent.since) / 1000)
    }
    write(session.handle(type, request))
    takeTurns()
    if ([...opening.keys()].some((each) => directory.owns(each) && delivery.mayOpen(each))) open()
    armRetry()
    deps.onStatus()
  }

  function resync(type?: string) {
    delivery.release(type)
    if (isBlocked) owed = 'resync'
    else write(session.resync(type))
    deps.onStatus()
  }

  function push() {
    if (isBlocked) {
      if (owed === 'nothing') owed = 'push'
      return
    }
    const answers = session.push()
    if (answers.length > 0) pushedAt = clock.monotonic()
    write(answers)
    changedAt = undefined
    takeTurns()
    armRetry()
    deps.onStatus()
  }

  /** Whatever goes one at a time: the next one, as soon as the one before is answered. */
  function takeTurns() {
    if (isBlocked) return
    for (const type of delivery.waiting()) if (opened.has(type) && takeTurn(type)) write(session.push())
  }

  function takeTurn(type: string): boolean {
    return delivery.takeTurn(type, directory.presentOf(type, hashSuffix).own, clock.monotonic())
  }

  function fullResync() {
    push()
    arm('resync', clock.monotonic() + deps.fullResyncMs(), fullResync)
  }

  function armRetry() {
    const at = delivery.deadline()
    timers.get('retry')?.cancel()
    timers.delete('retry')
    if (at !== undefined) arm('retry', at, push)
  }

  function write(answers: ReturnType<typeof session.push>) {
    for (const answer of answers) {
      if (answer.variant !== 'delta') continue
      const { type, nonce, resources, removed } = answer
      const content = new Map<string, string>(resources.map(({ name, version }) => [name, version]))
      for (const name of removed) content.set(name, '')
      delivery.sent(type, nonce, content)
      sentAt.set(nonce, { type, since: changedAt ?? clock.monotonic() })
      if (!deps.write({ type, nonce, resources, removed })) isBlocked = true
    }
  }

  /** What the delivery knows of a refusal is more than the session does: who is suspected, and since when. */
  function withSuspects(type: string, status: TypeStatus): TypeStatus {
    const suspects = delivery.suspects(type)
    const [first] = suspects
    if (first === undefined) return status
    const since = Math.min(...suspects.map((each) => each.since))
    const times = Math.max(...suspects.map((each) => each.times))
    const rejection = { reason: first.reason, since: toEpoch(since), times, resources: suspects.map(({ name }) => name) }
    return { ...status, rejection: { ...status.rejection, ...rejection, since: status.rejection?.since ?? rejection.since } }
  }

  function toEpoch(moment: number): number {
    return Math.round(clock.now() + (moment - clock.monotonic()))
  }

  function arm(name: 'opening' | 'flush' | 'retry' | 'resync', at: number, fire: () => void) {
    timers.get(name)?.cancel()
    const timer = clock.at(at, () => {
      timers.delete(name)
      if (isStopped) return
      try {
        fire()
      } catch (error) {
        deps.onFault(error)
      }
    })
    timers.set(name, timer)
  }
}

import { assertNever } from '../lib/assert-never.ts'
import type { LinkErrorClass } from '../model/link-row.ts'
import type { LinkPolicy } from './link-policy.ts'

/**
 * When a link tries. Pure: times are monotonic ms, and chance comes in as `roll`.
 *
 *              start, the gate open
 *     idle ──────────────────────► connecting ──► syncing ◄──► live
 *      │                             ▲  ▲  └────────┬──────────┘
 *      │ start, the gate closed      │  │           │ a clean end after a long life: again at once
 *      │                         go, │  └───────────┤
 *      │                     due, or │              │ failed, or a clean end too soon
 *      └──────────► waiting ─────────┘◄─ retry now  │
 *                     ▲  until a moment (backoff), or for the gate (another probes the endpoint)
 *                     └─────────────────────────────┘
 *     any ── pause ──► paused ── resume, retry now ──► as start        any ── stop ──► stopped
 */
export type LinkState =
  | { readonly kind: 'idle' }
  | ({ readonly kind: 'connecting' } & Trying)
  | ({ readonly kind: 'syncing' } & Trying & Lived)
  | ({ readonly kind: 'live'; readonly liveSince: number } & Trying & Lived)
  | ({ readonly kind: 'waiting' } & Waiting)
  | { readonly kind: 'paused' }
  | { readonly kind: 'stopped' }

interface Trying {
  /** Failures in a row that the next wait is measured by. */
  readonly failures: number
  /** Of the last failure; undefined before any. */
  readonly cause: LinkErrorClass | undefined
  /** How long it has been live since the last failure, up to the present stretch. */
  readonly wellForMs: number
}
interface Lived {
  /** When this attempt first was live; undefined before. */
  readonly firstLiveAt: number | undefined
}
interface Waiting {
  /** Failures in a row: the next try is this retry. 0: it has not failed, its endpoint has. */
  readonly attempt: number
  readonly cause: LinkErrorClass | undefined
  readonly since: number
  readonly roll: number
  /** The peer said: not before. */
  readonly notBefore: number
  /** When the next try is due; undefined while it waits for the gate. */
  readonly until: number | undefined
}

export type LinkEvent =
  | { readonly type: 'start' | 'syncing' | 'live' | 'due' | 'go' | 'policy' | 'retryNow' | 'pause' | 'resume' | 'stop' }
  /** The attempt ended cleanly; so many events had come. */
  | { readonly type: 'ended'; readonly events: number }
  | {
      readonly type: 'failed'
      readonly class: LinkErrorClass
      readonly retryAfterMs: number | undefined
      /** The whole endpoint seems to be down. */
      readonly endpointDown: boolean
      /** The endpoint had answered this attempt before it failed. */
      readonly answered: boolean
    }

export interface LinkContext {
  readonly now: number
  /** [0, 1). */
  readonly roll: number
  readonly policy: LinkPolicy
  /** The endpoint is not known to be down, and nobody waits for their turn at it. */
  readonly gateOpen: boolean
}

/** What the driver has to do, in order: end the attempt, begin one, tell the gate it is down, wait at it, or wait at it no longer. */
export type LinkEffect = 'disconnect' | 'connect' | 'report_down' | 'queue' | 'leave'
export interface LinkStep {
  readonly state: LinkState
  readonly effects: readonly LinkEffect[]
  /** Set when a clean end counted as a failure. */
  readonly closedEarly?: true
}

/** A stream that ended sooner without having brought anything was no success. */
const SHORT_LIFE_MS = 1_000

export function nextLinkStep(state: LinkState, event: LinkEvent, context: LinkContext): LinkStep {
  switch (event.type) {
    case 'start':
      return state.kind === 'idle' ? begin(context) : stay(state)
    case 'syncing':
      return onSyncing(state, context)
    case 'live':
      return onLive(state, context)
    case 'ended':
      return onEnded(state, event.events, context)
    case 'failed':
      return isTrying(state) ? fail(state, event, context) : stay(state)
    case 'due':
      if (state.kind !== 'waiting' || state.until === undefined || context.now < state.until) return stay(state)
      return context.gateOpen ? tryAgain(state) : { state: { ...state, until: undefined }, effects: ['queue'] }
    case 'go':
      return state.kind === 'waiting' && state.until === undefined ? tryAgain(state) : stay(state)
    case 'policy':
      return stay(state.kind === 'waiting' && state.until !== undefined ? { ...state, until: dueAt(state, context.policy) } : state)
    case 'retryNow':
      return retryNow(state, context)
    case 'pause':
      return state.kind === 'stopped' ? stay(state) : { state: { kind: 'paused' }, effects: leaving(state) }
    case 'resume':
      return state.kind === 'paused' ? begin(context) : stay(state)
    case 'stop':
      return { state: { kind: 'stopped' }, effects: leaving(state) }
    default:
      return assertNever(event)
  }
}

/** A moment at which `due` has to be told; undefined when time alone changes nothing. */
export function linkDueAt(state: LinkState): number | undefined {
  return state.kind === 'waiting' ? state.until : undefined
}

function stay(state: LinkState): LinkStep {
  return { state, effects: [] }
}

function isTrying(state: LinkState): state is Extract<LinkState, Trying> {
  return state.kind === 'connecting' || state.kind === 'syncing' || state.kind === 'live'
}

const fresh: Trying = { failures: 0, cause: undefined, wellForMs: 0 }

function begin({ gateOpen, now, roll }: LinkContext): LinkStep {
  if (gateOpen) return { state: { kind: 'connecting', ...fresh }, effects: ['connect'] }
  return {
    state: { kind: 'waiting', attempt: 0, cause: undefined, since: now, roll, notBefore: now, until: undefined },
    effects: ['queue'],
  }
}

function tryAgain({ attempt, cause }: Waiting): LinkStep {
  return { state: { kind: 'connecting', failures: attempt, cause, wellForMs: 0 }, effects: ['connect'] }
}

function onSyncing(state: LinkState, { now }: LinkContext): LinkStep {
  if (state.kind !== 'connecting' && state.kind !== 'live') return stay(state)
  const { failures, cause } = state
  const firstLiveAt = state.kind === 'live' ? state.firstLiveAt : undefined
  return stay({ kind: 'syncing', failures, cause, wellForMs: wellFor(state, now), firstLiveAt })
}

function onLive(state: LinkState, { now }: LinkContext): LinkStep {
  if (state.kind !== 'connecting' && state.kind !== 'syncing') return stay(state)
  const { failures, cause, wellForMs } = state
  const firstLiveAt = (state.kind === 'syncing' ? state.firstLiveAt : undefined) ?? now
  return stay({ kind: 'live', failures, cause, wellForMs, liveSince: now, firstLiveAt })
}

/** How long the attempt has lived since it first was live; 0 before. */
function livedMs(state: Extract<LinkState, Trying>, now: number): number {
  return state.kind === 'connecting' || state.firstLiveAt === undefined ? 0 : now - state.firstLiveAt
}

/** How long it was live since the last failure. */
function wellFor(state: Extract<LinkState, Trying>, now: number): number {
  return state.wellForMs + (state.kind === 'live' ? now - state.liveSince : 0)
}

/** Whether it has been live for so long that what failed before is forgotten. Whoever never was live has nothing to be forgiven for. */
function isSteady(state: Extract<LinkState, Trying>, now: number, { resetAfterMs }: LinkPolicy): boolean {
  const hasBeenLive = state.wellForMs > 0 || (state.kind !== 'connecting' && state.firstLiveAt !== undefined)
  return hasBeenLive && wellFor(state, now) >= resetAfterMs
}

/** The wait that led to this attempt; before any failure, the one that would follow the first. */
function presentDelayMs({ failures }: Trying, policy: LinkPolicy): number {
  return policy.delayMs(Math.max(1, failures), 0.5)
}

function onEnded(state: LinkState, events: number, context: LinkContext): LinkStep {
  if (!isTrying(state)) return stay(state)
  const { now, policy, gateOpen, roll } = context
  const lived = livedMs(state, now)
  if (lived < presentDelayMs(state, policy) || (lived < SHORT_LIFE_MS && events === 0)) {
    const failure = { class: 'closed_early', retryAfterMs: undefined, endpointDown: false, answered: true } as const
    return { ...fail(state, failure, context), closedEarly: true }
  }
  const wellForMs = wellFor(state, now)
  const isReset = isSteady(state, now, policy)
  const failures = isReset ? 0 : state.failures
  const cause = isReset ? undefined : state.cause
  if (gateOpen) return { state: { kind: 'connecting', failures, cause, wellForMs }, effects: ['disconnect', 'connect'] }
  return {
    state: { kind: 'waiting', attempt: failures, cause, since: now, roll, notBefore: now, until: undefined },
    effects: ['disconnect', 'queue'],
  }
}

/**
 * Whether it is the endpoint that is down: it did not answer at all, or broke off what had lived for a while. A stream that is
 * answered and breaks at once, again and again, is this link's own trouble: it keeps its own waits and holds up nobody.
 */
function isEndpointsFault(state: Extract<LinkState, Trying>, failure: Failed, { now, policy }: LinkContext): boolean {
  if (!failure.endpointDown) return false
  return !failure.answered || livedMs(state, now) >= Math.max(SHORT_LIFE_MS, presentDelayMs(state, policy))
}
type Failed = Omit<Extract<LinkEvent, { type: 'failed' }>, 'type'>

function fail(state: Extract<LinkState, Trying>, failure: Failed, context: LinkContext): LinkStep {
  const { now, roll, policy } = context
  const attempt = isSteady(state, now, policy) ? 1 : state.failures + 1
  const notBefore = now + Math.max(0, failure.retryAfterMs ?? 0)
  const waiting: Waiting = { attempt, cause: failure.class, since: now, roll, notBefore, until: undefined }
  if (isEndpointsFault(state, failure, context)) return { state: { kind: 'waiting', ...waiting }, effects: ['disconnect', 'report_down'] }
  return { state: { kind: 'waiting', ...waiting, until: dueAt(waiting, policy) }, effects: ['disconnect'] }
}

function dueAt({ since, attempt, roll, notBefore }: Waiting, policy: LinkPolicy): number {
  return Math.max(since + policy.delayMs(attempt, roll), notBefore)
}

/** At once, past any wait and any gate. What it had failed before still counts. */
function retryNow(state: LinkState, { now }: LinkContext): LinkStep {
  switch (state.kind) {
    case 'idle':
    case 'stopped':
      return stay(state)
    case 'paused':
      return { state: { kind: 'connecting', ...fresh }, effects: ['connect'] }
    case 'waiting': {
      const step = tryAgain(state)
      return state.until === undefined ? { ...step, effects: ['leave', ...step.effects] } : step
    }
    case 'connecting':
    case 'syncing':
    case 'live':
      return {
        state: { kind: 'connecting', failures: state.failures, cause: state.cause, wellForMs: wellFor(state, now) },
        effects: ['disconnect', 'connect'],
      }
    default:
      return assertNever(state)
  }
}

/** What has to end before it is paused or stopped. */
function leaving(state: LinkState): readonly LinkEffect[] {
  if (isTrying(state)) return ['disconnect', 'leave']
  return state.kind === 'waiting' && state.until === undefined ? ['leave'] : []
}

import { assertNever } from '../lib/assert-never.ts'

/**
 * The herd guard of one endpoint: while it is down, one link probes it for all. Pure: times are monotonic ms.
 *
 *     open ── a link found it down ──► down: the head of the queue probes, a failed probe goes to its end
 *      ▲                                │  ▲
 *      │ nobody waits any more          │  │ down again: the probe's waits go on where they were
 *      │                       answered │  │
 *      └──────────── ramping ◄──────────┘  │
 *                       └──────────────────┘ the queue resumes one by one
 */
export type GateState =
  | { readonly kind: 'open'; readonly openedAt: number; readonly probes: number }
  | {
      readonly kind: 'down'
      readonly since: number
      /** Probes sent so far, and failed but for the one in flight. */
      readonly probes: number
      /** Whose probe is in flight; undefined between two. */
      readonly prober: string | undefined
      /** When the present wait began, or the probe in flight was sent; and before when the endpoint asked not to come. */
      readonly waitingSince: number
      readonly notBefore: number
      readonly probeAt: number
      readonly queue: readonly string[]
    }
  | {
      readonly kind: 'ramping'
      readonly openedAt: number
      readonly probes: number
      readonly nextAt: number
      readonly queue: readonly string[]
    }

export type GateEvent =
  /** An attempt of this link found the endpoint down; it waits here now. */
  | { readonly type: 'down'; readonly link: string; readonly retryAfterMs: number }
  /** This link wants to connect, and waits here. */
  | { readonly type: 'queue'; readonly link: string }
  /** The endpoint answered this link, whatever it said. */
  | { readonly type: 'answered'; readonly link: string }
  /** This link has nothing to do with the endpoint any more: paused, stopped, or it went by itself. */
  | { readonly type: 'leave'; readonly link: string }
  | { readonly type: 'due' | 'policy' }

export interface GatePolicy {
  /** The wait before probe number `probe` (1 = the first). */
  delayMs(probe: number): number
  readonly rampPerSecond: number
}
export interface GateStep {
  readonly state: GateState
  /** Links that may connect now. */
  readonly go: readonly string[]
}

/** An endpoint that was up for less goes on with the waits it had: one that flaps is not probed twice a second for ever. */
export const STEADY_AFTER_MS = 30_000

/** A probe that is neither answered nor refused for so long is joined by another's: its connection may hang. */
export const PROBE_PATIENCE_MS = 10_000

export const initialGateState: GateState = { kind: 'open', openedAt: 0, probes: 0 }

export function nextGateStep(state: GateState, event: GateEvent, context: { readonly now: number; readonly policy: GatePolicy }): GateStep {
  const { now, policy } = context
  switch (event.type) {
    case 'down':
      return { state: onDown(state, event, context), go: [] }
    case 'queue':
      if (state.kind === 'open') return { state, go: [event.link] }
      // A probe that ended without a word of how: as if it had failed.
      if (state.kind === 'down' && state.prober === event.link)
        return { state: onDown(state, { ...event, retryAfterMs: 0 }, context), go: [] }
      return { state: { ...state, queue: enqueue(state.queue, event.link) }, go: [] }
    case 'answered': {
      if (state.kind !== 'down') return { state, go: [] }
      return { state: resumed({ kind: 'ramping', openedAt: now, probes: state.probes, nextAt: now, queue: state.queue }), go: [] }
    }
    case 'leave':
      return { state: onLeave(state, event.link, now), go: [] }
    case 'due':
      return onDue(state, now, policy)
    case 'policy':
      if (state.kind !== 'down' || state.prober !== undefined) return { state, go: [] }
      return { state: { ...state, probeAt: probeAt(state, policy) }, go: [] }
    default:
      return assertNever(event)
  }
}

/** A moment at which `due` has to be told. */
export function gateDueAt(state: GateState): number | undefined {
  switch (state.kind) {
    case 'open':
      return undefined
    case 'down':
      if (state.prober === undefined) return state.probeAt
      return state.queue.length === 0 ? undefined : state.waitingSince + PROBE_PATIENCE_MS
    case 'ramping':
      return state.nextAt
    default:
      return assertNever(state)
  }
}

/** Who probes, or will next; undefined while it is up. */
export function proberOf(state: GateState): string | undefined {
  return state.kind === 'down' ? (state.prober ?? state.queue[0]) : undefined
}

type Down = Extract<GateState, { kind: 'down' }>

function probeAt({ waitingSince, notBefore, probes }: Pick<Down, 'waitingSince' | 'notBefore' | 'probes'>, policy: GatePolicy): number {
  return Math.max(waitingSince + policy.delayMs(probes + 1), notBefore)
}

function onDown(
  state: GateState,
  { link, retryAfterMs }: { readonly link: string; readonly retryAfterMs: number },
  { now, policy }: { readonly now: number; readonly policy: GatePolicy },
): Down {
  const notBefore = now + Math.max(0, retryAfterMs)
  if (state.kind === 'down') {
    const queue = enqueue(state.queue, link)
    // One whose attempt was under way before: it joins, the probing goes on.
    if (state.prober !== link) return { ...state, queue }
    const waits = { waitingSince: now, notBefore, probes: state.probes }
    return { ...state, ...waits, prober: undefined, queue, probeAt: probeAt(waits, policy) }
  }
  const probes = now - state.openedAt >= STEADY_AFTER_MS ? 0 : state.probes
  const waits = { waitingSince: now, notBefore, probes }
  const queue = enqueue(state.kind === 'ramping' ? state.queue : [], link)
  return { kind: 'down', since: now, ...waits, prober: undefined, queue, probeAt: probeAt(waits, policy) }
}

function onLeave(state: GateState, link: string, now: number): GateState {
  if (state.kind === 'open') return state
  const queue = state.queue.filter((other) => other !== link)
  if (state.kind === 'ramping') return resumed({ ...state, queue })
  // The probe in flight was its: the next in line hands in one at once.
  const left: Down =
    state.prober === link ? { ...state, queue, prober: undefined, probeAt: Math.max(now, state.notBefore) } : { ...state, queue }
  if (left.prober === undefined && left.queue.length === 0) return { kind: 'open', openedAt: now, probes: left.probes }
  return left
}

function onDue(state: GateState, now: number, policy: GatePolicy): GateStep {
  const dueAt = gateDueAt(state)
  if (state.kind === 'open' || dueAt === undefined || now < dueAt) return { state, go: [] }
  const [next, ...queue] = state.queue
  if (next === undefined) return { state: { kind: 'open', openedAt: now, probes: state.probes }, go: [] }
  if (state.kind === 'down') return { state: { ...state, prober: next, waitingSince: now, probes: state.probes + 1, queue }, go: [next] }
  // What a late timer missed is not made up for: that would be a burst.
  const nextAt = Math.max(state.nextAt + 1000 / policy.rampPerSecond, now)
  return { state: resumed({ ...state, queue, nextAt }), go: [next] }
}

function resumed(state: Extract<GateState, { kind: 'ramping' }>): GateState {
  return state.queue.length > 0 ? state : { kind: 'open', openedAt: state.openedAt, probes: state.probes }
}

function enqueue(queue: readonly string[], link: string): readonly string[] {
  return queue.includes(link) ? queue : [...queue, link]
}

import { CoreError } from '../lib/errors.ts'
import { deepFreeze } from '../lib/deep-freeze.ts'
import type { TypeStatus } from '../model/insight.ts'
import { type DeltaRequest, type DeltaTypeState, openDelta, pushDelta, resyncDelta, stepDelta } from './delta-state.ts'
import type { NamedVersion, Present, Settled } from './discovery.ts'
import { openSotw, pushSotw, resyncSotw, type SotwRequest, type SotwTypeState, stepSotw } from './sotw-state.ts'

/** A resource and what its receiver cannot do without: a changed cluster waits for its endpoints, a changed listener for its routes. */
export interface DiscoveryResource extends NamedVersion {
  readonly needs: readonly string[]
}

export type Answer<R> = { readonly type: string; readonly nonce: string; readonly resources: readonly R[] } & (
  | { readonly variant: 'sotw'; readonly version: string }
  | { readonly variant: 'delta'; readonly removed: readonly string[] }
)

/**
 * All types of one stream: keeps their states, counts, and puts answers in an order the peer can apply. It does no I/O; the
 * driver hands in messages and sends what it answers.
 */
export interface DiscoverySession<R extends DiscoveryResource> {
  /** Throws `exhausted` when the peer asks for more than `mostNames` of this type. */
  handle(type: string, request: SotwRequest | DeltaRequest): readonly Answer<R>[]
  /** Something may have changed, or a deadline passed. */
  push(): readonly Answer<R>[]
  /** Everything (or one type) again, at once. */
  resync(type?: string): readonly Answer<R>[]
  /** Monotonic ms when held-back content is to be tried again; undefined when nothing is held back. */
  deadline(): number | undefined
  /** Whether the peer asked for any of these by name, in any type. What it gets without naming it is for the driver to know. */
  names(names: ReadonlySet<string>): boolean
  status(): Readonly<Record<string, TypeStatus>>
  /** Short types whose newest response the peer has not answered. Counts do not tell: a response that a newer one overtook is never settled. */
  unanswered(): ReadonlySet<string>
}

export interface DiscoverySessionDeps<R extends DiscoveryResource> {
  readonly presentOf: (type: string) => Present<R>
  readonly types: readonly DiscoveryType[]
  /** Wall and monotonic time, both in ms. */
  readonly clock: { now(): number; monotonic(): number }
  readonly nackBackoffMs: () => number
  /** Of the delta variant: what its driver keeps from the peer for now. */
  readonly isHeldBack?: (type: string, name: string, version: string) => boolean
  readonly onCount?: (type: string, what: 'sent' | 'ack' | 'nack') => void
  /** What a peer may subscribe to by name, or say that it holds, of one type. Default: as much as it likes. */
  readonly mostNames?: number
}

/** In the order answers go out. */
export interface DiscoveryType {
  readonly type: string
  /** As it is named in status: CDS, EDS, ... */
  readonly short: string
  /** State of the world: no names means everything, and what an answer leaves out does not exist. */
  readonly hasFullSet: boolean
  /** The type that a changed resource of this one waits for, by the names in its `needs`. */
  readonly followedBy?: string
}

interface Step<S, R> {
  readonly state: S
  readonly response:
    | { readonly nonce: string; readonly resources: readonly R[]; readonly version?: string; readonly removed?: readonly string[] }
    | undefined
  readonly settled: Settled
}

type Context<R extends DiscoveryResource> = {
  readonly present: Present<R>
  readonly now: number
  readonly nackBackoffMs: number
  readonly isHeldBack: ((name: string, version: string) => boolean) | undefined
  readonly nextNonce: () => string
  readonly hasFullSet: boolean
}

/** What a variant does with one type. */
interface Variant<S, Q, R extends DiscoveryResource> {
  open(request: Q, context: Context<R>): Step<S, R>
  step(state: S, request: Q, context: Context<R>): Step<S, R>
  push(state: S, context: Context<R>, again: ReadonlySet<string>): Step<S, R>
  resync(state: S, context: Context<R>): Step<S, R>
  refusalOf(state: S): { readonly reason: string; readonly names: readonly string[] } | undefined
  heldUntil(state: S, now: number): number | undefined
  isOutstanding(state: S): boolean
  /** Resources of an answer that the peer had in another version before. */
  changedIn(before: S, resources: readonly R[]): readonly R[]
  names(state: S): ReadonlySet<string>
  /** Names that the state remembers because the peer said them. */
  nameCount(state: S): number
}

const NO_NAMES: ReadonlySet<string> = new Set()

export function createSotwSession<R extends DiscoveryResource>(deps: DiscoverySessionDeps<R>): DiscoverySession<R> {
  return createSession<SotwTypeState, SotwRequest, R>('sotw', sotw(), deps)
}

export function createDeltaSession<R extends DiscoveryResource>(deps: DiscoverySessionDeps<R>): DiscoverySession<R> {
  return createSession<DeltaTypeState, DeltaRequest, R>('delta', delta(), deps)
}

function sotw<R extends DiscoveryResource>(): Variant<SotwTypeState, SotwRequest, R> {
  return {
    open: openSotw,
    step: stepSotw,
    push: pushSotw,
    resync: resyncSotw,
    refusalOf: ({ refusal }) => refusal,
    heldUntil: ({ held }) => held?.until,
    isOutstanding: (state) => state.isOutstanding,
    // What was refused in between may have left the peer with either.
    changedIn: ({ last, accepted }, resources) =>
      resources.filter(({ name, version }) => [last?.content, accepted].some((had) => (had?.get(name) ?? version) !== version)),
    names: ({ names }) => names,
    nameCount: ({ names }) => names.size,
  }
}

function delta<R extends DiscoveryResource>(): Variant<DeltaTypeState, DeltaRequest, R> {
  return {
    open: openDelta,
    step: stepDelta,
    push: pushDelta,
    resync: resyncDelta,
    refusalOf: ({ refusal }) => refusal,
    heldUntil: ({ held, heldUntil }, now) => (held.size > 0 && heldUntil > now ? heldUntil : undefined),
    isOutstanding: ({ outstanding }) => outstanding.size > 0,
    changedIn: ({ known }, resources) => resources.filter(({ name, version }) => (known.get(name) ?? version) !== version),
    names: ({ names }) => names,
    nameCount: ({ names }) => names.size,
  }
}

function createSession<S, Q extends SotwRequest | DeltaRequest, R extends DiscoveryResource>(
  name: 'sotw' | 'delta',
  variant: Variant<S, Q, R>,
  { presentOf, types, clock, nackBackoffMs, isHeldBack, onCount, mostNames = Infinity }: DiscoverySessionDeps<R>,
): DiscoverySession<R> {
  const typesByUrl = new Map(types.map((each) => [each.type, each]))
  const states = new Map<string, S>()
  /** Frozen: what is told of them is kept by others. */
  const statuses = new Map<string, TypeStatus>()
  let told: Readonly<Record<string, TypeStatus>> | undefined
  let nonces = 0

  return {
    handle(type, request) {
      const known = states.get(type)
      // The driver reads the variant's own messages, so the request is of its shape.
      const asked = request as Q
      // Before anything is made of them: a message may name a million times the same.
      if (namesIn(request) > mostNames) throw tooMany(type)
      const step = known === undefined ? variant.open(asked, contextOf(type)) : variant.step(known, asked, contextOf(type))
      if (variant.nameCount(step.state) > mostNames) throw tooMany(type)
      if (known === undefined) return take(type, step)
      // An answer carries all that is new, also what was not asked for just now.
      return [...take(type, step), ...follow(type, step.response === undefined ? [] : variant.changedIn(known, step.response.resources))]
    },
    push() {
      const answers: Answer<R>[] = []
      const again = new Map<string, Set<string>>()
      for (const { type, followedBy } of types) {
        const before = states.get(type)
        if (before === undefined) continue
        const step = variant.push(before, contextOf(type), again.get(type) ?? NO_NAMES)
        if (step.state === before && step.response === undefined) continue
        answers.push(...take(type, step))
        if (step.response === undefined || followedBy === undefined) continue
        for (const { needs } of variant.changedIn(before, step.response.resources)) {
          for (const needed of needs) again.set(followedBy, (again.get(followedBy) ?? new Set()).add(needed))
        }
      }
      return answers
    },
    resync(wanted) {
      return types.flatMap(({ type }) => {
        const state = states.get(type)
        return state === undefined || (wanted !== undefined && wanted !== type) ? [] : take(type, variant.resync(state, contextOf(type)))
      })
    },
    deadline() {
      const now = clock.monotonic()
      let earliest: number | undefined
      for (const state of states.values()) {
        const until = variant.heldUntil(state, now)
        if (until !== undefined && (earliest === undefined || until < earliest)) earliest = until
      }
      return earliest
    },
    names(names) {
      return states.values().some((state) => !variant.names(state).isDisjointFrom(names))
    },
    unanswered() {
      const isUnanswered = ({ type }: DiscoveryType) => states.has(type) && variant.isOutstanding(states.get(type)!)
      return new Set(types.filter(isUnanswered).map(({ short }) => short))
    },
    status: () =>
      (told ??= Object.freeze(
        Object.fromEntries(types.flatMap(({ type, short }) => (statuses.has(type) ? [[short, statuses.get(type)!]] : []))),
      )),
  }

  function namesIn(request: SotwRequest | DeltaRequest): number {
    if ('names' in request) return request.names.length
    return Math.max(request.subscribe.length, request.unsubscribe.length, Object.keys(request.initialVersions).length)
  }

  function tooMany(type: string): CoreError {
    return new CoreError('exhausted', `more than ${mostNames} names of ${type} on one stream: ask for fewer, or for all with "*"`)
  }

  /** What the changed ones need goes at once, changed or not. */
  function follow(type: string, changed: readonly R[]): readonly Answer<R>[] {
    const followedBy = typesByUrl.get(type)?.followedBy
    const state = followedBy === undefined ? undefined : states.get(followedBy)
    const needed = new Set(changed.flatMap(({ needs }) => needs))
    if (followedBy === undefined || state === undefined || needed.size === 0) return []
    return take(followedBy, variant.push(state, contextOf(followedBy), needed))
  }

  function contextOf(type: string): Context<R> {
    return {
      present: presentOf(type),
      now: clock.monotonic(),
      nackBackoffMs: nackBackoffMs(),
      isHeldBack: isHeldBack && ((held, version) => isHeldBack(type, held, version)),
      nextNonce: () => String(++nonces),
      hasFullSet: typesByUrl.get(type)?.hasFullSet ?? false,
    }
  }

  function take(type: string, { state, response, settled }: Step<S, R>): readonly Answer<R>[] {
    states.set(type, state)
    if (settled === 'ack' || settled === 'nack') count(type, settled)
    if (response === undefined) {
      noteRefusal(type)
      return []
    }
    count(type, 'sent')
    const { nonce, resources } = response
    return [
      name === 'sotw'
        ? { variant: 'sotw', type, nonce, resources, version: response.version ?? '' }
        : { variant: 'delta', type, nonce, resources, removed: response.removed ?? [] },
    ]
  }

  function count(type: string, what: 'sent' | 'ack' | 'nack') {
    onCount?.(type, what)
    const now = clock.now()
    const before = statuses.get(type) ?? { sent: 0, acked: 0, nacked: 0, lastAt: now }
    note(type, {
      ...before,
      sent: before.sent + (what === 'sent' ? 1 : 0),
      acked: before.acked + (what === 'ack' ? 1 : 0),
      nacked: before.nacked + (what === 'nack' ? 1 : 0),
      lastAt: now,
    })
    noteRefusal(type, what === 'nack' ? 1 : 0)
  }

  /** A refusal begins with a NACK; it ends with an ACK, or when nothing it may be about is left. */
  function noteRefusal(type: string, times = 0) {
    const status = statuses.get(type)
    const refusal = variant.refusalOf(states.get(type)!)
    if (status === undefined || (refusal === undefined && status.rejection === undefined)) return
    const { rejection: known, ...rest } = status
    const now = clock.now()
    if (refusal !== undefined) {
      const rejection = {
        reason: refusal.reason,
        since: known?.since ?? now,
        times: (known?.times ?? 0) + times,
        resources: [...refusal.names],
      }
      note(type, { ...rest, rejection })
    } else if (known !== undefined) note(type, { ...rest, recovered: { ...known, until: now } })
  }

  function note(type: string, status: TypeStatus) {
    statuses.set(type, deepFreeze(status))
    told = undefined
  }
}

import { type DiscoveryContext, type NamedVersion, type Present, type Refusal, type Settled, WILDCARD } from './discovery.ts'

/**
 * A delta discovery session, server half: decides what one stream is sent. Pure: the time, the peer's messages and the
 * present resources come in, the next state and the answers come out.
 *
 * Per type:
 *
 *   (none) --first request--> subscribed --content or subscription moved--> response n outstanding
 *   response n outstanding --ACK n--> known          --NACK n--> held back until a deadline, or until its content changes
 *
 * Several responses of a type may be outstanding at once; each is settled by its own nonce and names what it added and
 * removed, so that a NACK takes back exactly that. Types never wait for each other.
 */

export interface DeltaRequest {
  readonly subscribe: readonly string[]
  readonly unsubscribe: readonly string[]
  /** What the peer says it holds; counts in the first request of a type on a stream only. */
  readonly initialVersions: Readonly<Record<string, string>>
  /** '' when it answers nothing. */
  readonly nonce: string
  /** Set exactly when it refuses the response of `nonce`. */
  readonly rejection: string | undefined
}

export interface DeltaResponse<R extends NamedVersion> {
  readonly nonce: string
  readonly resources: readonly R[]
  readonly removed: readonly string[]
}

interface Outstanding {
  readonly added: ReadonlyMap<string, string>
  readonly removed: readonly string[]
  /** What the peer held, or had been sent, of the added ones before. */
  readonly before: ReadonlyMap<string, string>
}

export interface DeltaTypeState {
  /** Subscribed to all there is: by "*", or by a first request that names nothing. */
  readonly wildcard: boolean
  /** Subscribed by name. */
  readonly names: ReadonlySet<string>
  /** What the peer holds or has been sent, by version. '' stands for "told that it is not there". */
  readonly known: ReadonlyMap<string, string>
  readonly outstanding: ReadonlyMap<string, Outstanding>
  /** Refused and unchanged since: not sent again before `heldUntil`. By version. */
  readonly held: ReadonlyMap<string, string>
  readonly heldUntil: number
  readonly refusal: Refusal | undefined
}

export interface DeltaStep<R extends NamedVersion> {
  readonly state: DeltaTypeState
  readonly response: DeltaResponse<R> | undefined
  readonly settled: Settled
}

const NOT_THERE = ''
/** A peer that never answers costs no more than this; what it says of older responses is stale. */
const MOST_OUTSTANDING = 256

/** The first request of a type on a stream: always answered, if only to say that there is nothing new. */
export function openDelta<R extends NamedVersion>(request: DeltaRequest, context: DiscoveryContext<R>): DeltaStep<R> {
  const names = new Set(request.subscribe.filter((name) => name !== WILDCARD))
  const state: DeltaTypeState = {
    wildcard: request.subscribe.includes(WILDCARD) || request.subscribe.length === 0,
    names,
    known: new Map(Object.entries(request.initialVersions)),
    outstanding: new Map(),
    held: new Map(),
    heldUntil: 0,
    refusal: undefined,
  }
  return { ...send(state, context, { again: new Set(), always: true }), settled: 'none' }
}

/** A later request: settles the response it names, then moves the subscription. */
export function stepDelta<R extends NamedVersion>(
  before: DeltaTypeState,
  request: DeltaRequest,
  context: DiscoveryContext<R>,
): DeltaStep<R> {
  const { state: settledState, settled } = settle(before, request, context)
  const subscribed = request.subscribe.filter((name) => name !== WILDCARD)
  // Some peers repeat "*" with every ACK or NACK: it asks for nothing new, and answering it would never end.
  const asksForAll = request.subscribe.includes(WILDCARD) && !settledState.wildcard
  const moved = subscribe(settledState, subscribed, request)
  const again = new Set(subscribed)
  return { ...send(moved, context, { again, always: again.size > 0 || asksForAll }), settled }
}

/** The resources changed, or a deadline passed, or an operator asked: sends what the peer lacks. `again` goes even if unchanged. */
export function pushDelta<R extends NamedVersion>(
  before: DeltaTypeState,
  context: DiscoveryContext<R>,
  again: ReadonlySet<string> = new Set(),
): DeltaStep<R> {
  const state = forgetMoot(before, context.present)
  return {
    ...send(state, context, { again: new Set([...again].filter((name) => isSubscribed(state, name))), always: false }),
    settled: 'none',
  }
}

/** Everything subscribed goes again at once, what was refused included. */
export function resyncDelta<R extends NamedVersion>(state: DeltaTypeState, context: DiscoveryContext<R>): DeltaStep<R> {
  return {
    ...send({ ...state, held: new Map(), heldUntil: 0 }, context, {
      again: new Set([...(state.wildcard ? context.present.own.keys() : []), ...state.names]),
      always: true,
    }),
    settled: 'none',
  }
}

/** What was refused and is gone on both sides can never be accepted: its refusal is over. */
function forgetMoot<R extends NamedVersion>(state: DeltaTypeState, present: Present<R>): DeltaTypeState {
  if (state.refusal === undefined) return state
  const names = state.refusal.names.filter(
    (name) => isSubscribed(state, name) && (find(state, present, name) !== undefined || (state.known.get(name) ?? NOT_THERE) !== NOT_THERE),
  )
  if (names.length === state.refusal.names.length && names.length > 0) return state
  return { ...state, refusal: names.length === 0 ? undefined : { ...state.refusal, names } }
}

function isSubscribed(state: DeltaTypeState, name: string): boolean {
  return state.wildcard || state.names.has(name)
}

/** By name it may see more than a subscription to everything shows. */
function find<R extends NamedVersion>(state: DeltaTypeState, present: Present<R>, name: string): R | undefined {
  return (state.names.has(name) ? present.find(name) : undefined) ?? (state.wildcard ? present.own.get(name) : undefined)
}

function settle<R extends NamedVersion>(
  state: DeltaTypeState,
  { nonce, rejection }: DeltaRequest,
  { now, nackBackoffMs }: DiscoveryContext<R>,
): { readonly state: DeltaTypeState; readonly settled: Settled } {
  if (nonce === '') return { state, settled: 'none' }
  const answered = state.outstanding.get(nonce)
  if (answered === undefined) return { state, settled: 'stale' }
  const outstanding = new Map(state.outstanding)
  outstanding.delete(nonce)
  if (rejection === undefined) {
    const stillRefused = state.refusal?.names.filter((name) => !answered.added.has(name) && !answered.removed.includes(name)) ?? []
    const refusal = state.refusal === undefined || stillRefused.length === 0 ? undefined : { ...state.refusal, names: stillRefused }
    return { state: { ...state, outstanding, refusal }, settled: 'ack' }
  }
  // The peer keeps what it had: what was added is not known, what was removed is still there. Unless a later response, on its
  // way already, says something of it: then that one decides.
  const known = new Map(state.known)
  const held = new Map(state.held)
  const decidedLater = namesAfter(state.outstanding, nonce)
  for (const [name, version] of answered.added) {
    if (known.get(name) === version && !decidedLater.has(name)) takeBack(known, name, answered.before.get(name))
    held.set(name, version)
  }
  for (const name of answered.removed) {
    if (!decidedLater.has(name)) known.set(name, UNKNOWN_VERSION)
    else rememberKept(outstanding, state.outstanding, { nonce, name })
    held.set(name, NOT_THERE)
  }
  const names = [...new Set([...(state.refusal?.names ?? []), ...answered.added.keys(), ...answered.removed])]
  return {
    state: {
      ...state,
      outstanding,
      known,
      held,
      // One deadline: a further NACK during the wait joins it and never extends it.
      heldUntil: state.heldUntil > now ? state.heldUntil : now + nackBackoffMs,
      refusal: { reason: rejection, names },
    },
    settled: 'nack',
  }
}

/** What the responses sent after this one say something of. */
function namesAfter(outstanding: DeltaTypeState['outstanding'], nonce: string): ReadonlySet<string> {
  const all = [...outstanding]
  const later = all.slice(all.findIndex(([each]) => each === nonce) + 1)
  return new Set(later.flatMap(([, { added, removed }]) => [...added.keys(), ...removed]))
}

/** The peer still has what it would not remove: the next response that adds it again was sent believing otherwise. */
function rememberKept(
  outstanding: Map<string, Outstanding>,
  all: DeltaTypeState['outstanding'],
  { nonce, name }: { readonly nonce: string; readonly name: string },
) {
  const sent = [...all.keys()]
  for (const later of sent.slice(sent.indexOf(nonce) + 1)) {
    const response = outstanding.get(later)
    if (response?.added.has(name) !== true) continue
    outstanding.set(later, { ...response, before: new Map(response.before).set(name, UNKNOWN_VERSION) })
    return
  }
}

/** Stands for a version of which we only know that it is not the present one. */
const UNKNOWN_VERSION = '\0unknown'

/** After a refusal the peer has what it had: nothing, or some version, which one being uncertain when several were refused in a row. */
function takeBack(known: Map<string, string>, name: string, before: string | undefined) {
  if (before === undefined) known.delete(name)
  else known.set(name, before === NOT_THERE ? NOT_THERE : UNKNOWN_VERSION)
}

function subscribe(state: DeltaTypeState, subscribed: readonly string[], request: DeltaRequest): DeltaTypeState {
  const unsubscribed = request.unsubscribe.filter((name) => name !== WILDCARD)
  const wildcard = (state.wildcard || request.subscribe.includes(WILDCARD)) && !request.unsubscribe.includes(WILDCARD)
  if (subscribed.length === 0 && unsubscribed.length === 0 && wildcard === state.wildcard) return state
  const names = new Set(state.names)
  for (const name of subscribed) names.add(name)
  for (const name of unsubscribed) names.delete(name)
  // What is no longer subscribed is forgotten by both sides; no removal is sent for it.
  const known = new Map([...state.known].filter(([name]) => wildcard || names.has(name)))
  return { ...state, wildcard, names, known }
}

interface Wish {
  /** Sent even if the peer holds this version; told once more if they are not there. */
  readonly again: ReadonlySet<string>
  /** Answered even if there is nothing to say. */
  readonly always: boolean
}

function send<R extends NamedVersion>(
  state: DeltaTypeState,
  context: DiscoveryContext<R>,
  { again, always }: Wish,
): { readonly state: DeltaTypeState; readonly response: DeltaResponse<R> | undefined } {
  const { present, now, isHeldBack } = context
  const isHeld = (name: string, version: string) =>
    isHeldBack?.(name, version) === true || (now < state.heldUntil && state.held.get(name) === version && !again.has(name))
  const resources: R[] = []
  for (const name of new Set([...(state.wildcard ? present.own.keys() : []), ...state.names])) {
    const resource = find(state, present, name)
    if (resource === undefined || isHeld(name, resource.version)) continue
    if (again.has(name) || state.known.get(name) !== resource.version) resources.push(resource)
  }
  const removed = new Set<string>()
  for (const [name, version] of state.known) {
    if (find(state, present, name) === undefined && version !== NOT_THERE && isSubscribed(state, name) && !isHeld(name, NOT_THERE))
      removed.add(name)
  }
  for (const name of state.names) {
    // A name that is not there is said once; the subscription stays, and it is sent when it appears.
    if (find(state, present, name) === undefined && (again.has(name) || !state.known.has(name)) && !isHeld(name, NOT_THERE))
      removed.add(name)
  }
  if (resources.length === 0 && removed.size === 0 && !always) return { state, response: undefined }

  const nonce = context.nextNonce()
  const known = new Map(state.known)
  const held = new Map(state.held)
  const added = new Map<string, string>()
  const before = new Map<string, string>()
  for (const { name, version } of resources) {
    const had = state.known.get(name)
    if (had !== undefined) before.set(name, had)
    known.set(name, version)
    added.set(name, version)
    held.delete(name)
  }
  for (const name of removed) {
    if (state.names.has(name)) known.set(name, NOT_THERE)
    else known.delete(name)
    held.delete(name)
  }
  const outstanding = new Map(state.outstanding).set(nonce, { added, removed: [...removed], before })
  const [oldest] = outstanding.keys()
  if (outstanding.size > MOST_OUTSTANDING && oldest !== undefined) outstanding.delete(oldest)
  return { state: { ...state, known, held, outstanding }, response: { nonce, resources, removed: [...removed] } }
}

import { type DiscoveryContext, type NamedVersion, type Refusal, type Settled, versionOfSet, WILDCARD } from './discovery.ts'

/**
 * One type of a state-of-the-world stream: decides what the peer is sent. Pure: the time, the peer's messages and the present
 * resources come in, the next state and the answer come out.
 *
 *   (none) --first request--> answered --content or subscription moved--> response n outstanding
 *   response n outstanding --ACK n--> in sync          --NACK n--> held back until a deadline, or until its content changes
 *
 * Every response carries all that is subscribed. Only the nonce of the newest response settles anything; a request with an
 * older one moves the subscription and nothing else. A request refuses a response if and only if it carries an error.
 *
 * Subscribed to everything (of a type that has a full set):
 *
 *   first request without names --> implied: stays, whatever names come and go, until "*" is given and taken back
 *   "*" among the names         --> asked: ends with the first request that leaves it out
 *
 * Without any subscription left nothing is sent: leaving out a name is not news.
 */
export interface SotwTypeState {
  /** Whether it is subscribed to everything, and by what. */
  readonly wildcard: 'no' | 'implied' | 'asked'
  readonly names: ReadonlySet<string>
  /** The newest response: what of it is still asked for. */
  readonly last: { readonly nonce: string; readonly content: Content } | undefined
  readonly isOutstanding: boolean
  /** What the peer has accepted last and still asks for. */
  readonly accepted: Content
  /** Refused content: not sent again unchanged before `until`. */
  readonly held: { readonly content: Content; readonly until: number } | undefined
  readonly refusal: Refusal | undefined
}

/** Versions by name. */
type Content = ReadonlyMap<string, string>

export interface SotwRequest {
  readonly names: readonly string[]
  /** '' when it answers nothing. */
  readonly nonce: string
  /** Set exactly when it refuses the response of `nonce`. */
  readonly rejection: string | undefined
}

export interface SotwResponse<R extends NamedVersion> {
  readonly nonce: string
  readonly version: string
  readonly resources: readonly R[]
}

export interface SotwStep<R extends NamedVersion> {
  readonly state: SotwTypeState
  readonly response: SotwResponse<R> | undefined
  readonly settled: Settled
}

export interface SotwContext<R extends NamedVersion> extends DiscoveryContext<R> {
  /** Clusters and listeners: no names means everything, and what an answer leaves out does not exist. */
  readonly hasFullSet: boolean
}

const NOTHING: Content = new Map()
const NO_NAMES: ReadonlySet<string> = new Set()

/** The first request of a type on a stream. Its version and nonce are another stream's words: never an ACK of ours. */
export function openSotw<R extends NamedVersion>(request: SotwRequest, context: SotwContext<R>): SotwStep<R> {
  const state: SotwTypeState = {
    wildcard: request.names.includes(WILDCARD) ? 'asked' : context.hasFullSet && request.names.length === 0 ? 'implied' : 'no',
    names: new Set(request.names.filter((name) => name !== WILDCARD)),
    last: undefined,
    isOutstanding: false,
    accepted: NOTHING,
    held: undefined,
    refusal: undefined,
  }
  const content = contentOf(state, context)
  const isWorthSaying = context.hasFullSet || content.size > 0
  return isWorthSaying ? respond(state, content, context) : { state, response: undefined, settled: 'none' }
}

/** A later request: settles the response it names, then moves the subscription. */
export function stepSotw<R extends NamedVersion>(before: SotwTypeState, request: SotwRequest, context: SotwContext<R>): SotwStep<R> {
  const { state: settledState, settled } = settle(before, request, context)
  const state = forgetUnsubscribed(subscribed(settledState, request))
  const added = state.names === before.names ? [] : [...state.names].filter((name) => !before.names.has(name))
  const asksForAll = state.wildcard !== 'no' && before.wildcard === 'no'
  // What it had taken before the refused answer is not known for sure: an ACK that a newer answer overtook does not count.
  const isUnsure = settledState.refusal !== undefined && state.refusal === undefined && state.names.size > 0
  const isWorthSaying =
    asksForAll ||
    (isUnsure && (context.hasFullSet || contentOf(state, context).size > 0)) ||
    (added.length > 0 && context.hasFullSet) ||
    added.some((name) => find(state, name, context) !== undefined)
  if (!isWorthSaying) return { state, response: undefined, settled }
  return { ...respond(state, contentOf(state, context), context), settled }
}

/** The resources changed, or a deadline passed: sends what is subscribed if it is not what was sent last. `again` goes even if unchanged. */
export function pushSotw<R extends NamedVersion>(
  state: SotwTypeState,
  context: SotwContext<R>,
  again: ReadonlySet<string> = NO_NAMES,
): SotwStep<R> {
  const { held } = state
  const isDue = held === undefined ? isNews(state, context) : context.now >= held.until || !isSame(contentOf(state, context), held.content)
  const mustFollow = () => again.values().some((name) => find(state, name, context) !== undefined)
  if (!isDue && !mustFollow()) return { state, response: undefined, settled: 'none' }
  return respond(state, contentOf(state, context), context)
}

/** Everything subscribed goes again at once, what was refused included. */
export function resyncSotw<R extends NamedVersion>(state: SotwTypeState, context: SotwContext<R>): SotwStep<R> {
  return respond(state, contentOf(state, context), context)
}

function subscribed(state: SotwTypeState, request: SotwRequest): SotwTypeState {
  const isForAll = request.names.includes(WILDCARD)
  const wildcard = isForAll ? 'asked' : state.wildcard === 'implied' ? 'implied' : 'no'
  const isRepeated = wildcard === state.wildcard && isInOrder(state.names, request.names)
  return isRepeated ? state : { ...state, wildcard, names: new Set(request.names.filter((name) => name !== WILDCARD)) }
}

/** As an ACK repeats them. */
function isInOrder(names: ReadonlySet<string>, asked: readonly string[]): boolean {
  if (asked.length !== names.size) return false
  let place = 0
  for (const name of names) if (name !== asked[place++]) return false
  return true
}

/** What it no longer asks for the peer does not keep, and what was refused of it is nobody's trouble any more. */
function forgetUnsubscribed(before: SotwTypeState): SotwTypeState {
  const { refusal, wildcard, names } = before
  if (wildcard !== 'no') return before
  const accepted = onlyOf(before.accepted, names)
  const content = before.last && onlyOf(before.last.content, names)
  const isKept = accepted === before.accepted && content === before.last?.content
  const state = isKept ? before : { ...before, accepted, last: before.last && { ...before.last, content: content ?? NOTHING } }
  if (refusal === undefined) return state
  // One without suspects may be about anything that is left.
  const isMoot = names.size === 0 || (refusal.names.length > 0 && !refusal.names.some((name) => names.has(name)))
  return isMoot ? { ...state, held: undefined, refusal: undefined } : state
}

function onlyOf(content: Content, names: ReadonlySet<string>): Content {
  return content.keys().every((name) => names.has(name)) ? content : new Map([...content].filter(([name]) => names.has(name)))
}

function settle<R extends NamedVersion>(
  state: SotwTypeState,
  { nonce, rejection }: SotwRequest,
  { now, nackBackoffMs }: SotwContext<R>,
): { readonly state: SotwTypeState; readonly settled: Settled } {
  if (nonce === '') return { state, settled: 'none' }
  if (state.last === undefined || nonce !== state.last.nonce) return { state, settled: 'stale' }
  // The peer repeats the nonce when it only moves its subscription: that answers nothing new.
  if (!state.isOutstanding) return { state, settled: rejection === undefined ? 'none' : 'stale' }
  const { content } = state.last
  if (rejection === undefined)
    return { state: { ...state, isOutstanding: false, accepted: content, held: undefined, refusal: undefined }, settled: 'ack' }
  const names = [...content].filter(([name, version]) => state.accepted.get(name) !== version).map(([name]) => name)
  return {
    state: { ...state, isOutstanding: false, held: { content, until: now + nackBackoffMs }, refusal: { reason: rejection, names } },
    settled: 'nack',
  }
}

/** By name it may see more than a subscription to everything shows. */
function find<R extends NamedVersion>({ names, wildcard }: SotwTypeState, name: string, { present }: SotwContext<R>): R | undefined {
  return (names.has(name) ? present.find(name) : undefined) ?? (wildcard === 'no' ? undefined : present.own.get(name))
}

/** Whether what is there now differs, for what is subscribed, from what was sent last. Most pushes find that it does not, so nothing is copied. */
function isNews<R extends NamedVersion>(state: SotwTypeState, context: SotwContext<R>): boolean {
  const { wildcard, names } = state
  const { present, hasFullSet } = context
  const sent = state.last?.content ?? NOTHING
  for (const name of names) {
    const found = present.find(name)
    if (found !== undefined && found.version !== sent.get(name)) return true
  }
  if (wildcard !== 'no') {
    for (const { name, version } of present.own.values()) if (version !== sent.get(name) && !names.has(name)) return true
  }
  // Of a type without a full set, leaving a name out of an answer tells the peer nothing.
  if (!hasFullSet) return false
  for (const name of sent.keys()) {
    if ((wildcard !== 'no' || names.has(name)) && find(state, name, context) === undefined) return true
  }
  return false
}

function contentOf<R extends NamedVersion>({ wildcard, names }: SotwTypeState, { present }: SotwContext<R>): Content {
  const content = new Map<string, string>()
  if (wildcard !== 'no') for (const { name, version } of present.own.values()) content.set(name, version)
  for (const name of names) {
    const found = present.find(name)
    if (found !== undefined) content.set(name, found.version)
  }
  return content
}

function respond<R extends NamedVersion>(state: SotwTypeState, content: Content, context: SotwContext<R>): SotwStep<R> {
  const resources = [...content.keys()].map((name) => find(state, name, context)).filter((resource) => resource !== undefined)
  const nonce = context.nextNonce()
  return {
    state: { ...state, last: { nonce, content }, isOutstanding: true, held: undefined },
    response: { nonce, version: versionOfSet(resources), resources },
    settled: 'none',
  }
}

function isSame(a: Content, b: Content): boolean {
  return a.size === b.size && [...a].every(([name, version]) => b.get(name) === version)
}

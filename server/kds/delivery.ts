/**
 * What one zone is kept from, and why. It knows no stream and no clock: the driver tells it what was sent, answered and lost,
 * and asks what may go.
 *
 * After a refusal (seed: one blocked callback held up every type): the refused content of all types waits for ONE deadline,
 * which further refusals join and never extend; everything else, and changed content, goes at once. A peer that says which
 * resources it refuses is taken at its word; one that does not makes each resource of the refused answer a suspect ("one of n").
 * At the deadline what was refused goes one at a time, so that each answer names its resource; what is refused again waits for the
 * next deadline, with growing, capped backoff.
 *
 * A peer that cannot decode a resource may end the whole connection, without a refusal, and again after each reconnect:
 *
 *   connection ends with an answer unacknowledged   -> its type goes last on the next one, when all others are settled
 *   it ends again at that answer                     -> what the peer has not acknowledged of that type goes one at a time
 *   it ends twice at the same resource               -> held back from this peer until its content changes or it is released
 *
 * A connection that merely broke passes the same way without harm: what is acknowledged is cleared at once.
 */
export interface Delivery {
  /** A stream has opened: everything is asked for anew. */
  opened(): void
  /** It ended, for this reason. `byUs`: nothing is to be learnt from it. */
  ended(end: { readonly now: number; readonly reason: string; readonly byUs: boolean }): void
  /** Whether a first request of the type may be answered yet. */
  mayOpen(type: string): boolean
  isHeldBack(type: string, name: string, version: string): boolean
  /** An answer has gone out. A removal has version ''. */
  sent(type: string, nonce: string, content: ReadonlyMap<string, string>): void
  /** The peer has answered; undefined is an ACK. */
  settled(nonce: string, rejection: string | undefined, now: number): void
  /** When refused content is to be tried again; undefined when nothing waits. */
  deadline(): number | undefined
  /**
   * Who goes next of a type that goes one at a time; call it before each push. `present` is what the type has now. Says whether
   * there is anything to push.
   */
  takeTurn(type: string, present: PresentVersions, now: number): boolean
  /** Types of which something waits. */
  waiting(): readonly string[]
  /** An operator asks: everything that waits, what ended connections included, is tried at once. */
  release(type?: string): void
  suspects(type: string): readonly Suspect[]
}

/** By name. */
type PresentVersions = ReadonlyMap<string, { readonly version: string }>

export interface Suspect {
  readonly name: string
  readonly version: string
  /** In the peer's words, or how its connection ended. */
  readonly reason: string
  /** Monotonic ms. */
  readonly since: number
  readonly times: number
  /** 1 = this one for sure; n = one of n that were in one refused answer. */
  readonly oneOf: number
  /** `refused`: tried again at the deadline. `poison`: ended connections; not tried until it changes or is released. */
  readonly kind: 'refused' | 'poison'
}

export interface DeliveryOptions {
  /** The wait before attempt n (1 = first) to send what was refused, unchanged. */
  readonly backoffMs: (attempt: number) => number
}

interface TypeState {
  /** What the peer has acknowledged, by version; kept over connections. */
  readonly accepted: Map<string, string>
  readonly suspects: Map<string, Suspect>
  /** Refused in this round already: not its turn again. */
  readonly tried: Set<string>
  /** How often a connection ended while this one was on its way alone. */
  readonly strikes: Map<string, { readonly version: string; readonly times: number }>
  order: 'any' | 'last' | 'one by one'
  /** The only one of those that go one at a time which may go now. */
  turn: string | undefined
}

const STRIKES = 2

export function createDelivery({ backoffMs }: DeliveryOptions): Delivery {
  const types = new Map<string, TypeState>()
  /** In the order they were sent. */
  const inFlight = new Map<string, { readonly type: string; readonly content: ReadonlyMap<string, string> }>()
  let deadline: number | undefined
  let isRetrying = false
  let attempt = 0

  return {
    opened() {
      inFlight.clear()
      endRound()
      attempt = 0
      for (const state of types.values()) {
        state.turn = undefined
        // All of it is asked for and sent again: only what ended connections stays behind.
        for (const { name, kind } of state.suspects.values()) if (kind === 'refused') state.suspects.delete(name)
      }
    },
    ended,
    mayOpen: (type) => types.get(type)?.order === undefined || types.get(type)?.order === 'any' || isSettledBut(type),
    isHeldBack(type, name, version) {
      const state = types.get(type)
      if (state === undefined) return false
      const suspect = state.suspects.get(name)
      if (suspect?.version === version) return state.turn !== name
      return state.order === 'one by one' && state.accepted.get(name) !== version && state.turn !== name
    },
    sent(type, nonce, content) {
      inFlight.set(nonce, { type, content })
    },
    settled,
    deadline: () => (isRetrying ? undefined : deadline),
    takeTurn,
    waiting: () => [...types].filter(([, state]) => state.order === 'one by one' || hasRefused(state)).map(([type]) => type),
    release(wanted) {
      for (const [type, state] of types) {
        if (wanted !== undefined && wanted !== type) continue
        state.suspects.clear()
        state.strikes.clear()
        state.tried.clear()
        state.turn = undefined
        state.order = 'any'
      }
      if (![...types.values()].some(hasRefused)) endRound()
    },
    suspects: (type) => [...(types.get(type)?.suspects.values() ?? [])],
  }

  function settled(nonce: string, rejection: string | undefined, now: number) {
    const answered = inFlight.get(nonce)
    if (answered === undefined) return
    inFlight.delete(nonce)
    const { type, content } = answered
    const state = stateOf(type)
    const refused = rejection === undefined ? new Map<string, Refusal>() : refusedIn(content, rejection)
    for (const [name, version] of content) {
      if (state.turn === name) state.turn = undefined
      if (refused.has(name)) continue
      if (version === '') state.accepted.delete(name)
      else state.accepted.set(name, version)
      state.suspects.delete(name)
      state.strikes.delete(name)
    }
    for (const [name, { version, reason }] of refused) {
      const known = state.suspects.get(name)
      state.suspects.set(name, {
        name,
        version,
        reason,
        since: known?.since ?? now,
        times: (known?.times ?? 0) + 1,
        oneOf: refused.size,
        kind: 'refused',
      })
      state.tried.add(name)
    }
    if (state.order === 'last') state.order = 'any'
    if (refused.size > 0 && deadline === undefined) setDeadline(now)
    if (![...types.values()].some(hasRefused)) {
      endRound()
      attempt = 0
    }
  }

  function ended({ now, reason, byUs }: { readonly now: number; readonly reason: string; readonly byUs: boolean }) {
    const [first] = inFlight.values()
    inFlight.clear()
    if (first === undefined || byUs) return
    const state = stateOf(first.type)
    switch (state.order) {
      case 'any':
        state.order = 'last'
        return
      case 'last':
        state.order = 'one by one'
        return
      case 'one by one': {
        const [name, version] = [...first.content].find(([each]) => each === state.turn) ?? []
        if (name === undefined || version === undefined) return
        const before = state.strikes.get(name)
        const times = before?.version === version ? before.times + 1 : 1
        state.strikes.set(name, { version, times })
        if (times < STRIKES) return
        state.suspects.set(name, { name, version, reason, since: now, times, oneOf: 1, kind: 'poison' })
      }
    }
  }

  function takeTurn(type: string, present: PresentVersions, now: number): boolean {
    const state = types.get(type)
    if (state === undefined) return false
    dropMoot(state, present)
    startRound(now)
    const isGoing = (name: string) => [...inFlight.values()].some((each) => each.type === type && each.content.has(name))
    if (state.turn !== undefined) return !isGoing(state.turn)
    const candidates = state.order === 'one by one' ? unproven(state, present) : isRetrying ? refusedNow(state) : []
    state.turn = candidates[0]
    if (state.turn === undefined && state.order === 'one by one') state.order = 'any'
    if (state.turn === undefined) finishRound(now)
    return state.turn !== undefined
  }

  /** What is gone or has changed since goes at once: nothing is held against it. */
  function dropMoot(state: TypeState, present: PresentVersions) {
    for (const { name, version } of state.suspects.values()) if ((present.get(name)?.version ?? '') !== version) state.suspects.delete(name)
    if (![...types.values()].some(hasRefused)) endRound()
  }

  /** Those that have ended a connection before go after all others. */
  function unproven({ accepted, suspects, strikes }: TypeState, present: PresentVersions): readonly string[] {
    const open = [...present].filter(([name, { version }]) => accepted.get(name) !== version && suspects.get(name)?.version !== version)
    return open.map(([name]) => name).sort((a, b) => (strikes.get(a)?.times ?? 0) - (strikes.get(b)?.times ?? 0))
  }

  function refusedNow({ suspects, tried }: TypeState): readonly string[] {
    return [...suspects.values()].filter(({ name, kind }) => kind === 'refused' && !tried.has(name)).map(({ name }) => name)
  }

  function startRound(now: number) {
    if (isRetrying || deadline === undefined || now < deadline) return
    isRetrying = true
    for (const state of types.values()) state.tried.clear()
  }

  /** When all that was refused has had its turn, what is left waits for the next deadline. */
  function finishRound(now: number) {
    if (!isRetrying) return
    const isOpen = ({ suspects, tried, turn }: TypeState) =>
      turn !== undefined || [...suspects.values()].some(({ kind, name }) => kind === 'refused' && !tried.has(name))
    if ([...types.values()].some(isOpen)) return
    endRound()
    if ([...types.values()].some(hasRefused)) setDeadline(now)
  }

  function endRound() {
    isRetrying = false
    deadline = undefined
  }

  function setDeadline(now: number) {
    attempt++
    deadline = now + backoffMs(attempt)
  }

  function isSettledBut(type: string): boolean {
    return [...inFlight.values()].every((each) => each.type === type)
  }

  function stateOf(type: string): TypeState {
    const known = types.get(type)
    if (known !== undefined) return known
    const state: TypeState = {
      accepted: new Map(),
      suspects: new Map(),
      tried: new Set(),
      strikes: new Map(),
      order: 'any',
      turn: undefined,
    }
    types.set(type, state)
    return state
  }
}

function hasRefused({ suspects }: TypeState): boolean {
  return [...suspects.values()].some(({ kind }) => kind === 'refused')
}

interface Refusal {
  readonly version: string
  readonly reason: string
}

/** A peer of our kind names what it refuses, one a line; another one names nothing, or some of them in its own words. */
function refusedIn(content: ReadonlyMap<string, string>, rejection: string): ReadonlyMap<string, Refusal> {
  const lines = rejection.split('\n')
  const named = new Map<string, Refusal>()
  for (const [name, version] of content) {
    const line = lines.find((each) => each.startsWith(`${name}: `))
    if (line !== undefined) named.set(name, { version, reason: line.slice(name.length + 2) })
  }
  return named.size > 0 ? named : new Map([...content].map(([name, version]) => [name, { version, reason: rejection }]))
}

import type { DeltaRequest, DeltaResponse } from './delta-state.ts'
import { type NamedVersion, WILDCARD } from './discovery.ts'

/**
 * A delta discovery session, client half, one type: what we ask for, what we hold, and how we answer. Pure.
 *
 *   (none) --open--> first request: what we ask for, and what we still hold of before
 *   response --accepted--> ACK, its additions and removals are held     --refused--> NACK, what we held stays
 *
 * What is held outlives the stream: the next one begins with its versions, and is sent only differences.
 */
export interface DeltaClientState {
  /** Asked for everything there is. */
  readonly wildcard: boolean
  readonly names: ReadonlySet<string>
  /** Versions of what was accepted, by name. */
  readonly holds: ReadonlyMap<string, string>
}

export const nothingHeld: DeltaClientState = { wildcard: false, names: new Set(), holds: new Map() }

export interface DeltaClientStep {
  readonly state: DeltaClientState
  /** Undefined when there is nothing to say. */
  readonly request: DeltaRequest | undefined
}

const SILENT: DeltaRequest = { subscribe: [], unsubscribe: [], initialVersions: {}, nonce: '', rejection: undefined }

/** The first request of a type on a stream. `names` undefined asks for everything. */
export function openDeltaClient(before: DeltaClientState, names: Iterable<string> | undefined): DeltaClientStep {
  const wanted = new Set(names)
  const state: DeltaClientState = {
    wildcard: names === undefined,
    names: wanted,
    // What is asked for no more is not held either: the server will not say when it goes.
    holds: names === undefined ? before.holds : new Map([...before.holds].filter(([name]) => wanted.has(name))),
  }
  const subscribe = names === undefined ? [WILDCARD] : [...wanted]
  return { state, request: { ...SILENT, subscribe, initialVersions: Object.fromEntries(state.holds) } }
}

/** Asks for other names than before, beside everything if that was asked for. */
export function subscribeDeltaClient(state: DeltaClientState, names: Iterable<string>): DeltaClientStep {
  const wanted = new Set(names)
  const subscribe = [...wanted].filter((name) => !state.names.has(name))
  const unsubscribe = [...state.names].filter((name) => !wanted.has(name))
  if (subscribe.length === 0 && unsubscribe.length === 0) return { state, request: undefined }
  const holds = state.wildcard ? state.holds : new Map([...state.holds].filter(([name]) => wanted.has(name)))
  return { state: { ...state, names: wanted, holds }, request: { ...SILENT, subscribe, unsubscribe } }
}

/** Answers a response: with a reason it is refused, and what was held stays. */
export function answerDeltaClient(
  state: DeltaClientState,
  response: DeltaResponse<NamedVersion>,
  rejection?: string,
): DeltaClientStep & { readonly request: DeltaRequest } {
  const request: DeltaRequest = { ...SILENT, nonce: response.nonce, rejection }
  if (rejection !== undefined) return { state, request }
  const holds = new Map(state.holds)
  for (const { name, version } of response.resources) holds.set(name, version)
  for (const name of response.removed) holds.delete(name)
  return { state: { ...state, holds }, request }
}

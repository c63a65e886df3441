import {
  type AdsNode,
  type AdsProtocol,
  CLUSTER,
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  type DiscoveryRequest,
  type DiscoveryResponse,
  ENDPOINT,
  LISTENER,
  ROUTE,
  SECRET,
} from './ads-protocol.ts'
import {
  answerDeltaClient,
  type DeltaClientState,
  nothingHeld,
  openDeltaClient,
  subscribeDeltaClient,
} from '../discovery/delta-client-state.ts'
import type { DeltaRequest } from '../discovery/delta-state.ts'

/** Which type a data plane refuses, and what it says. */
export interface Rejection {
  readonly typeUrl: string
  readonly reason: string
}

/** The client's half of one stream: asks as Envoy does, and acknowledges or refuses what it is sent. */
export interface Conversation {
  open(node: AdsNode): void
  answer(response: DiscoveryResponse | DeltaDiscoveryResponse): void
  /** Asks for something it has already, so that it is sent and acknowledged once more. */
  chatter(): void
}

export interface ConversationDeps {
  readonly protocol: AdsProtocol
  readonly write: (request: DiscoveryRequest | DeltaDiscoveryRequest) => void
  readonly rejection: () => Rejection | undefined
}

/** What a proxy with TLS asks for by name. In a mesh without, nobody answers. */
const SECRETS = ['identity', 'mesh-ca'] as const

export function sotwConversation({ protocol, write, rejection }: ConversationDeps): Conversation {
  const accepted = new Map<string, string>()
  const names = new Map<string, readonly string[]>()

  return {
    chatter,
    open(node) {
      write({ type_url: CLUSTER, node })
      subscribe(SECRET, SECRETS)
    },
    answer(response) {
      const { type_url, nonce, resources } = response
      const version = 'version_info' in response ? response.version_info : ''
      const refused = refusalOf(type_url, rejection())
      const isFirst = !accepted.has(type_url)
      if (refused === undefined) accepted.set(type_url, version)
      write({
        type_url,
        version_info: accepted.get(type_url) ?? '',
        response_nonce: nonce,
        resource_names: names.get(type_url) ?? [],
        ...refused,
      })
      if (refused !== undefined) return
      // As Envoy does: endpoints for clusters, listeners once clusters are there, routes for listeners.
      const bodies = resources.map((resource) => ('resource' in resource ? resource.resource : resource))
      if (type_url === CLUSTER) {
        subscribe(ENDPOINT, protocol.needsOf(type_url, bodies))
        if (isFirst) write({ type_url: LISTENER })
      }
      if (type_url === LISTENER) subscribe(ROUTE, protocol.needsOf(type_url, bodies))
    },
  }

  function chatter() {
    const [first, ...others] = names.get(ENDPOINT) ?? []
    if (first === undefined) return
    const version_info = accepted.get(ENDPOINT) ?? ''
    write({ type_url: ENDPOINT, version_info, resource_names: others })
    write({ type_url: ENDPOINT, version_info, resource_names: [first, ...others] })
  }

  function subscribe(type_url: string, wanted: readonly string[]) {
    if (wanted.length === 0 || String(names.get(type_url)) === String(wanted)) return
    names.set(type_url, wanted)
    write({ type_url, version_info: accepted.get(type_url) ?? '', resource_names: wanted })
  }
}

/** What a data plane that speaks delta keeps over reconnects, so that it is sent only differences. */
export interface DeltaMemory {
  readonly held: Map<string, DeltaClientState>
  /** By type and name of what it holds: what that makes it ask for. */
  readonly needs: Map<string, readonly string[]>
}

export function createDeltaMemory(): DeltaMemory {
  return { held: new Map(), needs: new Map() }
}

export function deltaConversation({ protocol, write, rejection }: ConversationDeps, { held, needs }: DeltaMemory): Conversation {
  const open = new Set<string>()
  let node: AdsNode | undefined

  return {
    chatter() {
      const [first] = held.get(ENDPOINT)?.names ?? []
      if (first !== undefined) write({ type_url: ENDPOINT, resource_names_subscribe: [first] })
    },
    open(known) {
      node = known
      ask(CLUSTER, undefined)
      ask(SECRET, SECRETS)
    },
    answer(response) {
      const { type_url, nonce, resources } = response
      const removed = 'removed_resources' in response ? response.removed_resources : []
      const refused = rejection()
      const bodies = resources.flatMap((each) => ('resource' in each ? [each] : []))
      const step = answerDeltaClient(
        held.get(type_url) ?? nothingHeld,
        { nonce, resources: bodies, removed },
        refused?.typeUrl === type_url ? refused.reason : undefined,
      )
      held.set(type_url, step.state)
      send(type_url, step.request)
      if (step.request.rejection !== undefined) return
      for (const { name, resource } of bodies) needs.set(`${type_url} ${name}`, protocol.needsOf(type_url, [resource]))
      // As Envoy does: endpoints for clusters, listeners once clusters are there, routes for listeners.
      if (type_url === CLUSTER) {
        ask(ENDPOINT, needsOfHeld(CLUSTER))
        ask(LISTENER, undefined)
      }
      if (type_url === LISTENER) ask(ROUTE, needsOfHeld(LISTENER))
    },
  }

  function needsOfHeld(type: string): readonly string[] {
    return [...(held.get(type)?.holds.keys() ?? [])].flatMap((name) => needs.get(`${type} ${name}`) ?? [])
  }

  /** The first time on a stream with what it holds of before, then only for what moved. */
  function ask(type: string, names: readonly string[] | undefined) {
    const before = held.get(type) ?? nothingHeld
    // To ask for no name at all would be to ask for everything.
    if (names?.length === 0 && !open.has(type)) return
    const step = open.has(type) ? (names === undefined ? undefined : subscribeDeltaClient(before, names)) : openDeltaClient(before, names)
    open.add(type)
    if (step === undefined) return
    held.set(type, step.state)
    send(type, step.request)
  }

  function send(type_url: string, request: DeltaRequest | undefined) {
    if (request === undefined) return
    const { subscribe, unsubscribe, initialVersions, nonce, rejection: reason } = request
    write({
      type_url,
      resource_names_subscribe: subscribe,
      resource_names_unsubscribe: unsubscribe,
      initial_resource_versions: initialVersions,
      response_nonce: nonce,
      ...(node !== undefined && { node }),
      ...(reason !== undefined && { error_detail: { code: 13, message: reason } }),
    })
    // Only the first message of a stream says who we are.
    node = undefined
  }
}

function refusalOf(typeUrl: string, rejection: Rejection | undefined) {
  return rejection?.typeUrl === typeUrl ? { error_detail: { code: 13, message: rejection.reason } } : undefined
}

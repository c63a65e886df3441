import {
  type AdsNode,
  type AdsProtocol,
  CLUSTER,
  type DeltaRequest,
  type DeltaResponse,
  type DiscoveryRequest,
  type DiscoveryResponse,
  ENDPOINT,
  LISTENER,
  ROUTE,
  SECRET,
} from './ads-protocol.ts'

/** Which type a data plane refuses, and what it says. */
export interface Rejection {
  readonly typeUrl: string
  readonly reason: string
}

/** The client's half of one stream: asks as Envoy does, and acknowledges or refuses what it is sent. */
export interface Conversation {
  open(node: AdsNode): void
  answer(response: DiscoveryResponse | DeltaResponse): void
  /** Asks for something it has already, so that it is sent and acknowledged once more. */
  chatter(): void
}

export interface ConversationDeps {
  readonly protocol: AdsProtocol
  readonly write: (request: DiscoveryRequest | DeltaRequest) => void
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

export function deltaConversation({ protocol, write, rejection }: ConversationDeps): Conversation {
  const subscribed = new Map<string, Set<string>>()
  let asksForListeners = false

  return {
    chatter,
    open(node) {
      write({ type_url: CLUSTER, node })
      subscribe(SECRET, SECRETS)
    },
    answer({ type_url, nonce, resources }) {
      const refused = refusalOf(type_url, rejection())
      write({ type_url, response_nonce: nonce, ...refused })
      if (refused !== undefined) return
      const bodies = resources.flatMap((resource) => ('resource' in resource ? [resource.resource] : []))
      if (type_url === CLUSTER) {
        subscribe(ENDPOINT, protocol.needsOf(type_url, bodies))
        if (!asksForListeners) write({ type_url: LISTENER })
        asksForListeners = true
      }
      if (type_url === LISTENER) subscribe(ROUTE, protocol.needsOf(type_url, bodies))
    },
  }

  function chatter() {
    const [first] = subscribed.get(ENDPOINT) ?? []
    if (first !== undefined) write({ type_url: ENDPOINT, resource_names_subscribe: [first] })
  }

  function subscribe(type_url: string, wanted: readonly string[]) {
    const known = subscribed.get(type_url) ?? new Set<string>()
    const added = wanted.filter((name) => !known.has(name))
    if (added.length === 0) return
    for (const name of added) known.add(name)
    subscribed.set(type_url, known)
    write({ type_url, resource_names_subscribe: added })
  }
}

function refusalOf(typeUrl: string, rejection: Rejection | undefined) {
  return rejection?.typeUrl === typeUrl ? { error_detail: { code: 13, message: rejection.reason } } : undefined
}

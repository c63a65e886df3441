import type { DeltaDiscoveryRequest, DeltaDiscoveryRequest__Output } from '../gen/envoy/service/discovery/v3/DeltaDiscoveryRequest.ts'
import type { DeltaDiscoveryResponse, DeltaDiscoveryResponse__Output } from '../gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import type { Node } from '../gen/envoy/config/core/v3/Node.ts'
import { WILDCARD } from '../discovery/discovery.ts'
import type { DeltaRequest } from '../discovery/delta-state.ts'
import type { SyncReceiver } from './sync-receiver.ts'
import type { SyncAnswer } from './sync-sender.ts'

/** A gRPC stream of either end, in either role: what it reads and what it writes. */
export interface Duplex<In, Out> {
  write(message: Out): boolean
  on(event: 'drain', listener: () => void): unknown
  on(event: 'data', listener: (message: In) => void): unknown
  pause(): unknown
  resume(): unknown
}
/** The end that sends resources. */
export type SenderStream = Duplex<DeltaDiscoveryRequest__Output, DeltaDiscoveryResponse>
/** The end that receives them. */
export type ReceiverStream = Duplex<DeltaDiscoveryResponse__Output, DeltaDiscoveryRequest>

/** A peer of our kind names each resource it refuses in a line of its own. */
const LONGEST_REASON = 64 * 1024

export function toDeltaRequest(message: DeltaDiscoveryRequest__Output): DeltaRequest {
  const { error_detail, response_nonce } = message
  const reason = error_detail?.message.trim() ?? ''
  return {
    subscribe: message.resource_names_subscribe,
    unsubscribe: message.resource_names_unsubscribe,
    initialVersions: message.initial_resource_versions,
    nonce: response_nonce,
    rejection:
      error_detail === null
        ? undefined
        : reason === ''
          ? `refused without a reason (code ${error_detail.code})`
          : reason.slice(0, LONGEST_REASON),
  }
}

function toResponse({ type, nonce, resources, removed }: SyncAnswer): DeltaDiscoveryResponse {
  return {
    type_url: type,
    nonce,
    resources: resources.map(({ name, version, any }) => ({ name, version, resource: any })),
    removed_resources: [...removed],
  }
}

/** Writes answers; false when the peer does not read: then it is not read from either, until it does and `onDrain` is told. */
export function writerOn(call: SenderStream, onDrain: () => void): (answer: SyncAnswer) => boolean {
  call.on('drain', () => {
    call.resume()
    onDrain()
  })
  return (answer) => {
    const isRead = call.write(toResponse(answer))
    if (!isRead) call.pause()
    return isRead
  }
}

/**
 * Asks for everything of the types and answers what comes, message by message: an ACK, or a NACK that says what was refused and
 * repeats the subscription, as real zones do. `onFail` is told when the stream can't go on.
 */
export function receiveOn(
  call: ReceiverStream,
  receiver: SyncReceiver,
  options: {
    readonly types: readonly string[]
    readonly node: Node
    readonly onMessage?: (type: string) => void
    readonly onFail: (error: unknown) => void
  },
): void {
  const { types, node, onMessage, onFail } = options
  const wanted = new Set(types)
  call.on('data', (message) => {
    call.pause()
    void answer(message)
      .then(() => call.resume())
      .catch(onFail)
  })
  for (const type of types) call.write({ node, type_url: type, resource_names_subscribe: [WILDCARD] })

  async function answer({ type_url: type, nonce, resources, removed_resources: removed }: DeltaDiscoveryResponse__Output) {
    onMessage?.(type)
    // A type that was not asked for: nothing of it is stored, and its sender is told.
    const rejection = wanted.has(type)
      ? await receiver.take({ type, resources: resources.map(({ name, resource }) => ({ name, any: resource })), removed })
      : `type ${type} was not asked for`
    call.write({
      node: { id: node.id ?? '' },
      type_url: type,
      response_nonce: nonce,
      ...(rejection !== undefined && {
        error_detail: { code: 0, message: rejection.slice(0, LONGEST_REASON) },
        resource_names_subscribe: [WILDCARD],
      }),
    })
  }
}

import { type ClientDuplexStream, type ChannelOptions, credentials, makeGenericClientConstructor } from '@grpc/grpc-js'
import { type BackoffPolicy, backoffDelayMs } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import type {
  AdsNode,
  AdsProtocol,
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from './ads-protocol.ts'
import { createDeltaMemory, deltaConversation, type Rejection, sotwConversation } from './conversation.ts'

/** One simulated data plane: a real xDS client on a connection of its own that routes nothing. */
export interface DataPlane {
  readonly mesh: string
  readonly name: string
  /** Connects, and reconnects with backoff, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Ends the stream; it comes back after `awayMs`. */
  drop(awayMs: number): void
  /** From the next response on. */
  rejectWith(rejection: Rejection | undefined): void
  /** Has itself sent something again that it has already. */
  chatter(): void
}

export interface DataPlaneIdentity {
  readonly mesh: string
  readonly name: string
  readonly variant: 'sotw' | 'delta'
  /** What it registers at each connection. */
  readonly spec: Dataplane
}

export interface DataPlaneDeps {
  readonly clock: Clock
  readonly random: () => number
  readonly protocol: AdsProtocol
  /** host:port of the xDS server. */
  readonly xds: string
}

const RECONNECT: BackoffPolicy = { baseMs: 500, maxMs: 10_000, factor: 2, jitterPercent: 50 }
/** A stream that lived this long counts as healthy: the next reconnect starts from the base again. */
const HEALTHY_AFTER_MS = 5_000
const CHANNEL: ChannelOptions = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.keepalive_time_ms': 15_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': 10 << 20,
  'grpc.initial_reconnect_backoff_ms': 100,
}

type Stream = ClientDuplexStream<DiscoveryRequest | DeltaDiscoveryRequest, DiscoveryResponse | DeltaDiscoveryResponse>

export function createDataPlane(
  { clock, random, protocol, xds }: DataPlaneDeps,
  { mesh, name, variant, spec }: DataPlaneIdentity,
): DataPlane {
  const Client = makeGenericClientConstructor(protocol.service, 'AggregatedDiscoveryService')
  const node: AdsNode = {
    id: `${mesh}.${name}`,
    cluster: spec.networking.inbound[0]?.tags['kuma.io/service'] ?? name,
    user_agent_name: 'tidewatch-fleet',
    user_agent_version: '1',
    metadata: { fields: { 'dataplane.resource': { stringValue: JSON.stringify({ type: 'Dataplane', mesh, name, ...spec }) } } },
  }
  const memory = createDeltaMemory()
  let stream: Stream | undefined
  let awayMs = 0
  let rejection: Rejection | undefined
  let chatter: (() => void) | undefined

  return { mesh, name, run, drop, chatter: () => chatter?.(), rejectWith: (next) => void (rejection = next) }

  async function run(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted;) {
      const startedAt = clock.monotonic()
      await converse(signal)
      if (signal.aborted) return
      attempt = clock.monotonic() - startedAt > HEALTHY_AFTER_MS ? 1 : attempt + 1
      const waitMs = awayMs > 0 ? awayMs : backoffDelayMs(RECONNECT, attempt, random)
      awayMs = 0
      await clock.sleep(waitMs, signal).catch(() => undefined)
    }
  }

  function drop(ms: number) {
    if (stream === undefined) return
    awayMs = ms
    stream.cancel()
  }

  /** One stream, from its first request to its end. */
  function converse(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const client = new Client(xds, credentials.createInsecure(), CHANNEL)
      const method = protocol.service[variant === 'sotw' ? 'StreamAggregatedResources' : 'DeltaAggregatedResources']!
      const open = client.makeBidiStreamRequest(
        method.path,
        method.requestSerialize as (request: object) => Buffer,
        method.responseDeserialize,
      ) as Stream
      stream = open
      const onAbort = () => open.cancel()
      signal.addEventListener('abort', onAbort, { once: true })
      const talk = { protocol, write: (request: Parameters<Stream['write']>[0]) => void open.write(request), rejection: () => rejection }
      const conversation = variant === 'sotw' ? sotwConversation(talk) : deltaConversation(talk, memory)
      chatter = conversation.chatter
      open.on('data', conversation.answer)
      open.on('error', () => undefined)
      open.on('status', () => {
        signal.removeEventListener('abort', onAbort)
        stream = undefined
        chatter = undefined
        client.close()
        resolve()
      })
      conversation.open(node)
    })
  }
}

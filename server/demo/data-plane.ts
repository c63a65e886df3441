import { type ClientDuplexStream, type ChannelOptions, credentials, makeGenericClientConstructor } from '@grpc/grpc-js'
import { type BackoffPolicy, backoffDelayMs } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import {
  type AdsNode,
  type AdsProtocol,
  CLUSTER,
  type DiscoveryRequest,
  type DiscoveryResponse,
  ENDPOINT,
  LISTENER,
  ROUTE,
} from './ads-protocol.ts'

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
}

export interface DataPlaneIdentity {
  readonly mesh: string
  readonly name: string
  /** What it registers at each connection. */
  readonly spec: Dataplane
}

/** Which type it refuses, and what it says. */
export interface Rejection {
  readonly typeUrl: string
  readonly reason: string
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

type Stream = ClientDuplexStream<DiscoveryRequest, DiscoveryResponse>

export function createDataPlane({ clock, random, protocol, xds }: DataPlaneDeps, { mesh, name, spec }: DataPlaneIdentity): DataPlane {
  const Client = makeGenericClientConstructor(protocol.service, 'AggregatedDiscoveryService')
  const node: AdsNode = {
    id: `${mesh}.${name}`,
    cluster: spec.networking.inbound[0]?.tags['kuma.io/service'] ?? name,
    user_agent_name: 'tidewatch-fleet',
    user_agent_version: '1',
    metadata: { fields: { 'dataplane.resource': { stringValue: JSON.stringify({ type: 'Dataplane', mesh, name, ...spec }) } } },
  }
  let stream: Stream | undefined
  let awayMs = 0
  let rejection: Rejection | undefined

  return { mesh, name, run, drop, rejectWith: (next) => void (rejection = next) }

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
      const open = client.makeBidiStreamRequest(
        '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
        protocol.service['StreamAggregatedResources']!.requestSerialize,
        protocol.service['StreamAggregatedResources']!.responseDeserialize as (bytes: Buffer) => DiscoveryResponse,
      ) as Stream
      stream = open
      const onAbort = () => open.cancel()
      signal.addEventListener('abort', onAbort, { once: true })
      const accepted = new Map<string, string>()
      const names = new Map<string, readonly string[]>()
      open.on('data', (response: DiscoveryResponse) => answer(response))
      open.on('error', () => undefined)
      open.on('status', () => {
        signal.removeEventListener('abort', onAbort)
        stream = undefined
        client.close()
        resolve()
      })
      open.write({ type_url: CLUSTER, node })

      function answer(response: DiscoveryResponse) {
        const { type_url, version_info, nonce } = response
        const refused = rejection?.typeUrl === type_url ? rejection : undefined
        const isFirst = !accepted.has(type_url)
        if (refused === undefined) accepted.set(type_url, version_info)
        const resource_names = names.get(type_url) ?? []
        open.write({
          type_url,
          version_info: accepted.get(type_url) ?? '',
          response_nonce: nonce,
          resource_names,
          ...(refused !== undefined && { error_detail: { code: 13, message: refused.reason } }),
        })
        if (refused === undefined) follow(response, isFirst)
      }

      /** As Envoy does: endpoints for clusters, listeners once clusters are there, routes for listeners. */
      function follow(response: DiscoveryResponse, isFirst: boolean) {
        if (response.type_url === CLUSTER) {
          subscribe(ENDPOINT, protocol.needsOf(response))
          if (isFirst) open.write({ type_url: LISTENER })
        }
        if (response.type_url === LISTENER) subscribe(ROUTE, protocol.needsOf(response))
      }

      function subscribe(type_url: string, wanted: readonly string[]) {
        if (wanted.length === 0 || String(names.get(type_url)) === String(wanted)) return
        names.set(type_url, wanted)
        open.write({ type_url, version_info: accepted.get(type_url) ?? '', resource_names: wanted })
      }
    })
  }
}

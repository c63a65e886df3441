import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import type { DeltaDiscoveryRequest__Output } from '../../server/gen/envoy/service/discovery/v3/DeltaDiscoveryRequest.ts'
import type { DeltaDiscoveryResponse } from '../../server/gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import { createSystemClock } from '../../server/lib/clock.ts'
import type { KumaResourceCodec, SyncedResource, WireResource } from '../../server/kds/kuma-resource.ts'
import type { KdsProtos } from '../../server/kds/protos.ts'

/**
 * A global whose callback sleeps after each refusal before it hears the next request, of whatever type, and which sends a type again only when
 * its last answer was acknowledged: how it was done before, and what the seed of the rule describes.
 */
export interface BlockingGlobal {
  readonly address: string
  put(resource: SyncedResource): void
  nacks(): number
  stop(): Promise<void>
}

interface TypeState {
  readonly resources: Map<string, WireResource>
  isAsked: boolean
  isOutstanding: boolean
  sent: string
}

export async function startBlockingGlobal(
  protos: KdsProtos,
  codec: KumaResourceCodec,
  { sleepMs, tickMs }: { readonly sleepMs: number; readonly tickMs: number },
): Promise<BlockingGlobal> {
  const clock = createSystemClock()
  const ending = new AbortController()
  const types = new Map<string, TypeState>()
  let call: ServerDuplexStream<DeltaDiscoveryRequest__Output, DeltaDiscoveryResponse> | undefined
  let nacks = 0
  let nonces = 0
  let callback: Promise<void> = Promise.resolve()
  const stateOf = (type: string) =>
    types.getOrInsertComputed(type, () => ({ resources: new Map(), isAsked: false, isOutstanding: false, sent: '' }))
  const server = new Server()
  const hold = (held: ServerDuplexStream<unknown, unknown>) => void held.resume().on('error', () => undefined)
  server.addService(protos.syncService, {
    GlobalToZoneSync(opened: NonNullable<typeof call>) {
      call = opened
      opened.on('error', () => undefined)
      opened.on('data', (message: DeltaDiscoveryRequest__Output) => {
        callback = callback.then(() => onRequest(message)).catch(() => undefined)
      })
    },
    ZoneToGlobalSync: hold,
  })
  server.addService(protos.globalService, {
    StreamXDSConfigs: hold,
    StreamStats: hold,
    StreamClusters: hold,
    HealthCheck: (_call: unknown, answer: (error: null, message: object) => void) => answer(null, {}),
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  const ticking = tick()
  return {
    address: `127.0.0.1:${port}`,
    put(resource) {
      const wire = codec.encode(resource)
      stateOf(resource.key.type).resources.set(wire.name, wire)
    },
    nacks: () => nacks,
    async stop() {
      ending.abort()
      server.forceShutdown()
      await ticking
    },
  }

  async function onRequest({ type_url, response_nonce, error_detail }: DeltaDiscoveryRequest__Output): Promise<void> {
    const state = stateOf(type_url)
    state.isAsked = true
    if (response_nonce !== '') state.isOutstanding = false
    if (error_detail === null) return
    nacks++
    await clock.sleep(sleepMs, ending.signal)
    state.sent = ''
  }

  async function tick(): Promise<void> {
    while (!ending.signal.aborted) {
      for (const [type, state] of types) {
        const content = [...state.resources.values()].map(({ name, version }) => `${name} ${version}`).join()
        if (!state.isAsked || state.isOutstanding || content === state.sent || call === undefined) continue
        state.sent = content
        state.isOutstanding = true
        call.write({
          type_url: type,
          nonce: String(++nonces),
          resources: [...state.resources.values()].map(({ name, version, any }) => ({ name, version, resource: any })),
        })
      }
      await clock.sleep(tickMs, ending.signal).catch(() => undefined)
    }
  }
}

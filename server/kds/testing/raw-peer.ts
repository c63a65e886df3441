import { credentials, makeGenericClientConstructor, Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import type { DeltaDiscoveryRequest, DeltaDiscoveryRequest__Output } from '../../gen/envoy/service/discovery/v3/DeltaDiscoveryRequest.ts'
import type { DeltaDiscoveryResponse, DeltaDiscoveryResponse__Output } from '../../gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import type { KDSSyncServiceClient } from '../../gen/kuma/mesh/v1alpha1/KDSSyncService.ts'
import { createSystemClock } from '../../lib/clock.ts'
import type { KdsProtos } from '../protos.ts'

/** The two kinds of control plane that are not ours, as far as a test needs them: they say what they are told to say. */
export interface RawGlobal {
  readonly address: string
  /** What the zone asked and answered on the stream from the global. */
  readonly requests: DeltaDiscoveryRequest__Output[]
  /** What the zone sent up. */
  readonly sentUp: DeltaDiscoveryResponse__Output[]
  /** Streams from the global that were opened so far. */
  opened(): number
  send(response: DeltaDiscoveryResponse): void
  ask(request: DeltaDiscoveryRequest): void
  /** Ends the streams cleanly, as a global that restarts may. */
  endStreams(): void
  stop(): Promise<void>
}

type DownCall = ServerDuplexStream<DeltaDiscoveryRequest__Output, DeltaDiscoveryResponse>
type UpCall = ServerDuplexStream<DeltaDiscoveryResponse__Output, DeltaDiscoveryRequest>

export async function startRawGlobal(protos: KdsProtos): Promise<RawGlobal> {
  const server = new Server()
  const requests: DeltaDiscoveryRequest__Output[] = []
  const sentUp: DeltaDiscoveryResponse__Output[] = []
  let opened = 0
  let down: DownCall | undefined
  let up: UpCall | undefined
  const hold = (call: ServerDuplexStream<unknown, unknown>) => void call.resume().on('error', () => undefined)
  server.addService(protos.syncService, {
    GlobalToZoneSync(call: DownCall) {
      opened++
      down = call
      call.on('data', (message: DeltaDiscoveryRequest__Output) => requests.push(message))
      call.on('error', () => undefined)
    },
    ZoneToGlobalSync(call: UpCall) {
      up = call
      call.on('data', (message: DeltaDiscoveryResponse__Output) => sentUp.push(message))
      call.on('error', () => undefined)
    },
  })
  server.addService(protos.globalService, {
    StreamXDSConfigs: hold,
    StreamStats: hold,
    StreamClusters: hold,
    HealthCheck: (_call: unknown, callback: (error: null, answer: object) => void) => callback(null, {}),
  })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  return {
    address: `127.0.0.1:${port}`,
    requests,
    sentUp,
    opened: () => opened,
    send: (response) => void down?.write(response),
    ask: (request) => void up?.write(request),
    endStreams() {
      down?.end()
      up?.end()
    },
    stop: () =>
      new Promise((resolve) => {
        server.forceShutdown()
        resolve()
      }),
  }
}

export interface RawZone {
  readonly responses: DeltaDiscoveryResponse__Output[]
  /** What the global asked and answered on the stream to it. */
  readonly asked: DeltaDiscoveryRequest__Output[]
  isOver(): boolean
  request(request: DeltaDiscoveryRequest): void
  sendUp(response: DeltaDiscoveryResponse): void
  /** Reads nothing on the stream from the global until told to again. */
  pause(): void
  resume(): void
  /** Cuts everything, as a zone does that cannot decode a resource. */
  cut(): void
}

/** `onResponse` may answer, or throw to cut the connection. */
export function openRawZone(
  protos: KdsProtos,
  address: string,
  options: { readonly zone: string; readonly onResponse?: (response: DeltaDiscoveryResponse__Output, zone: RawZone) => void },
): RawZone {
  const SyncClient = makeGenericClientConstructor(protos.syncService, 'KDSSyncService')
  const client = new SyncClient(address, credentials.createInsecure()) as unknown as KDSSyncServiceClient
  const metadata = new Metadata()
  metadata.set('client-id', options.zone)
  metadata.set('version', '2.14.3')
  metadata.add('features', 'hash-suffix')
  let isOver = false
  const down = client.GlobalToZoneSync(metadata)
  const up = client.ZoneToGlobalSync(metadata)
  const zone: RawZone = {
    responses: [],
    asked: [],
    isOver: () => isOver,
    request: (request) => void (isOver || down.write(request)),
    sendUp: (response) => void (isOver || up.write(response)),
    pause: () => void down.pause(),
    resume: () => void down.resume(),
    cut() {
      isOver = true
      down.cancel()
      up.cancel()
      client.close()
    },
  }
  down.on('data', (response: DeltaDiscoveryResponse__Output) => {
    if (isOver) return
    zone.responses.push(response)
    try {
      options.onResponse?.(response, zone)
    } catch {
      // What it acknowledged before has left it by then.
      isOver = true
      void createSystemClock().sleep(20).then(zone.cut)
    }
  })
  up.on('data', (request: DeltaDiscoveryRequest__Output) => zone.asked.push(request))
  for (const call of [down, up]) {
    call.on('error', () => (isOver = true))
    call.on('end', () => (isOver = true))
  }
  return zone
}

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server as Listener, type Socket } from 'node:net'
import { Server, ServerCredentials, type handleUnaryCall } from '@grpc/grpc-js'
import type { ZoneHealthCheckRequest__Output } from '../gen/kuma/mesh/v1alpha1/ZoneHealthCheckRequest.ts'
import type { ZoneHealthCheckResponse } from '../gen/kuma/mesh/v1alpha1/ZoneHealthCheckResponse.ts'
import { CoreError, toCoreError } from '../lib/errors.ts'
import { statusIsLast } from '../lib/grpc-status-is-last.ts'
import { toGrpcStatus } from '../lib/grpc-status.ts'
import { MAX_STREAMS_PER_CONNECTION } from '../lib/grpc-streams.ts'
import { toHostPort } from '../lib/host-port.ts'
import type { KdsProtos } from './protos.ts'
import { readCaller } from './zone-node.ts'
import type { AnyCall, ZoneSessions } from './zone-sessions.ts'

/**
 * What zones connect to: KDSSyncService in both directions, and GlobalKDSService, whose three inspection streams are held open,
 * unanswered, since a zone ends everything when one of them ends.
 */
export interface KdsServer {
  /** host:port, once it listens. */
  address(): string
  /** Rejects with `unavailable` when the port can't be taken. */
  listen(): Promise<void>
  /** Serves until aborted; then ends all streams and resolves when their last status is handed over. */
  run(signal: AbortSignal): Promise<void>
}

export interface KdsServerDeps {
  readonly clock: { monotonic(): number; at(dueAt: number, fire: () => void): { cancel(): void } }
  readonly protos: KdsProtos
  readonly zones: ZoneSessions
  readonly onFault: (what: string, error: unknown) => void
}

export interface KdsServerOptions {
  readonly host: string
  readonly port: number
  /** PEM; without it zones connect in plain text. */
  readonly tls: { readonly certificate: Buffer; readonly key: Buffer } | undefined
}

const MAX_MESSAGE_BYTES = 10 << 20
const BACKLOG = 1024
/** A half-open zone is found within the sum of both. */
const KEEPALIVE_TIME_MS = 15_000
const KEEPALIVE_TIMEOUT_MS = 15_000
/** How often a zone shall say that it lives: above TCP, and through proxies, nothing else does. */
const HEALTH_INTERVAL_S = 10
const CLOSE_WITHIN_MS = 2_000

export function createKdsServer({ clock, protos, zones, onFault }: KdsServerDeps, { host, port, tls }: KdsServerOptions): KdsServer {
  const sockets = new Set<Socket>()
  let listener: Listener | undefined
  const grpc = new Server({
    interceptors: [statusIsLast],
    'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  })
  grpc.addService(protos.syncService, { GlobalToZoneSync: zones.openDown, ZoneToGlobalSync: zones.openUp })
  grpc.addService(protos.globalService, {
    StreamXDSConfigs: holdOpen,
    StreamStats: holdOpen,
    StreamClusters: holdOpen,
    HealthCheck: healthCheck,
  })
  const injector = grpc.createConnectionInjector(
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [{ cert_chain: tls.certificate, private_key: tls.key }]),
  )

  return {
    address: () => toHostPort(host, (listener?.address() as AddressInfo | null)?.port ?? port),
    async listen() {
      const server = createServer({ noDelay: true }, (socket) => {
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        // A connection that breaks is the end of its streams, nothing more.
        socket.on('error', () => undefined)
        injector.injectConnection(socket)
      })
      listener = server
      try {
        server.listen({ host, port, backlog: BACKLOG })
        await once(server, 'listening')
      } catch (error) {
        const { message } = error as Error
        throw new CoreError('unavailable', `KDS can't listen on ${toHostPort(host, port)}: ${message}; choose another --kds-port`, {
          cause: error,
        })
      }
      server.on('error', (error) => onFault('accept a KDS connection', error))
    },
    async run(signal) {
      const serving = zones.run(signal)
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      listener?.close()
      await serving
      const closed = Promise.withResolvers<void>()
      grpc.tryShutdown(() => closed.resolve())
      injector.drain(1)
      const deadline = clock.at(clock.monotonic() + CLOSE_WITHIN_MS, () => {
        grpc.forceShutdown()
        closed.resolve()
      })
      await closed.promise
      deadline.cancel()
      for (const socket of sockets) socket.destroy()
      injector.destroy()
    },
  }

  function holdOpen(call: AnyCall & { resume(): unknown }) {
    zones.hold(call)
    call.resume()
    call.on('end', () => call.end())
    call.on('error', () => undefined)
  }

  function healthCheck(...[call, callback]: Parameters<handleUnaryCall<ZoneHealthCheckRequest__Output, ZoneHealthCheckResponse>>) {
    try {
      zones.isAlive(readCaller(call.metadata).name)
      callback(null, { interval: { seconds: HEALTH_INTERVAL_S } })
    } catch (error) {
      callback(toGrpcStatus(toCoreError(error)))
    }
  }
}

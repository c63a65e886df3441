import { once } from 'node:events'
import { type AddressInfo, createServer, type Server as Listener, type Socket } from 'node:net'
import { type ChannelOptions, Server, ServerCredentials } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { clip } from '../lib/clip.ts'
import type { Clock } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import { statusIsLast } from '../lib/grpc-status-is-last.ts'
import { MAX_STREAMS_PER_CONNECTION } from '../lib/grpc-streams.ts'
import { toHostPort } from '../lib/host-port.ts'
import type { NewId } from '../lib/random.ts'
import { createSparseLog } from '../lib/sparse-log.ts'
import type { Tunable } from '../lib/tunable.ts'
import { SERVICE_TAG } from '../model/kinds/dataplane.ts'
import type { SessionRegistry } from '../discovery/session-registry.ts'
import type { StatusPort, StatusSession } from '../discovery/status-port.ts'
import { createAdmission } from './admission.ts'
import { connect, connectSteps, type Connecting, type StepResult } from './connect.ts'
import type { Identity } from './identity.ts'
import type { Lifecycle, Registered } from './lifecycle.ts'
import { withMessageBounds } from './message-bounds.ts'
import type { MeshDirectory } from './mesh-directory.ts'
import type { Protos } from './protos.ts'
import { createPushQueue } from './push-queue.ts'
import { SECRET, xdsTypes } from './resource-types.ts'
import { presentSecrets } from './secret-resources.ts'
import { type Call, openStream, type StreamDeps, type XdsStream } from './stream.ts'

/** The gRPC AggregatedDiscoveryService, both variants, for Envoys and gRPC clients. */
export interface XdsServer {
  /** host:port, once it listens. */
  address(): string
  /** Rejects with `unavailable` when the port can't be taken. */
  listen(): Promise<void>
  /** Serves until aborted; then ends all streams and resolves when their last status is handed over. */
  run(signal: AbortSignal): Promise<void>
  sizes(): { readonly streams: number; readonly connections: number; readonly removals: number }
}

export interface XdsObserver {
  /** By short type. */
  response(type: string, result: 'sent' | 'ack' | 'nack'): void
  /** By the short type of what a stream was sent first. */
  firstConfig(type: string, seconds: number): void
}

export interface XdsServerDeps {
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
  readonly instance: string
  readonly protos: Protos
  readonly directory: MeshDirectory
  readonly lifecycle: Lifecycle
  readonly identity: Identity
  readonly sessions: SessionRegistry
  readonly status: StatusPort
  readonly tunables: {
    readonly refreshIntervalMs: Tunable<number>
    readonly nackBackoffMs: Tunable<number>
    readonly cacheTtlMs: Tunable<number>
  }
  readonly observer: XdsObserver
  readonly storeSignalsWrites: boolean
}

export interface XdsServerOptions {
  readonly host: string
  readonly port: number
  /** A half-open peer is found within the sum of both. Default 15 s and 5 s. */
  readonly keepaliveTimeMs?: number
  readonly keepaliveTimeoutMs?: number
}

/** grpc-js listens with 511, and a storm of connects then waits whole seconds for its SYNs to be sent again. */
const BACKLOG = 4096
const MAX_MESSAGE_BYTES = 4 << 20
const LONGEST_LOGGED = 1_000
const CLOSE_WITHIN_MS = 2_000

export function createXdsServer(deps: XdsServerDeps, options: XdsServerOptions): XdsServer {
  const { clock, newId, log, instance, directory, lifecycle, identity, sessions, status, tunables, observer } = deps
  const streams = new Map<string, XdsStream>()
  const statuses = new Map<string, StatusSession>()
  const lastFlushes = new Set<Promise<void>>()
  const sockets = new Set<Socket>()
  const admission = createAdmission()
  const refusals = createSparseLog(clock)
  const pushes = createPushQueue(clock, () => streams.values())
  const shortOf = new Map(xdsTypes.map(({ type, short }) => [type, short]))
  const steps = connectSteps({
    clock,
    lifecycle,
    directory,
    storeSignalsWrites: deps.storeSignalsWrites,
    cacheTtlMs: tunables.cacheTtlMs,
    startSync,
    startStatus,
  })
  const opening = new Map<string, XdsStream>()
  let listener: Listener | undefined
  let isStopping = false

  const streamDeps: StreamDeps = {
    clock,
    instance,
    presentFor: (subject, type) =>
      type === SECRET ? presentSecrets(deps.protos, identity.secretsOf(subject)) : directory.presentFor(subject, type),
    nackBackoffMs: () => tunables.nackBackoffMs.get(),
    refreshIntervalMs: () => tunables.refreshIntervalMs.get(),
    connect: (connecting) => connect(steps, connecting),
    enqueue: pushes.enqueue,
    onCount: (type, what) => observer.response(shortOf.get(type) ?? type, what),
    onFirstConfig: (type, seconds) => observer.firstConfig(shortOf.get(type) ?? type, seconds),
    onStatus(stream) {
      statuses.get(stream.id)?.update(stream.subscription())
      sessions.touched(stream.id)
    },
    onEnd(stream) {
      opening.delete(stream.id)
    },
    onRefused(error) {
      if (!isStopping) refusals.note(error.code, (count) => tellRefused(error, count))
    },
  }

  const grpc = new Server({ ...grpcOptions(options), interceptors: [statusIsLast] })
  grpc.addService(withMessageBounds(deps.protos.discoveryService), {
    StreamAggregatedResources: (call: Call) => open(call, 'sotw'),
    DeltaAggregatedResources: (call: Call) => open(call, 'delta'),
  })
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())

  return {
    address: () => toHostPort(options.host, (listener?.address() as AddressInfo | null)?.port ?? options.port),
    listen,
    run,
    sizes: () => ({ streams: streams.size + opening.size, connections: sockets.size, removals: lifecycle.pending() }),
  }

  /** The newest of `count` alike. */
  function tellRefused(error: CoreError, count: number) {
    if (error.code === 'internal') log.error({ err: error, count }, 'ended an xDS stream by a fault of ours; the peer connects again')
    else if (error.code === 'unavailable') log.warn({ err: error, count }, 'ended an xDS stream; the peer connects again')
    else log.info({ code: error.code, reason: clip(error.message, LONGEST_LOGGED), count }, 'refused an xDS stream')
  }

  function open(call: Call, variant: 'sotw' | 'delta') {
    const id = newId()
    const stream = openStream(call, streamDeps, { id, variant })
    if (isStopping) return stream.end(stopping())
    opening.set(id, stream)
  }

  /** In a mesh with mTLS it gets a certificate, and each renewal goes out. */
  function startSync({ identity: { subject }, sessionId }: Connecting, registered: Registered | undefined): StepResult {
    if (registered === undefined || !directory.isSecure(subject.mesh)) return {}
    const services = new Set(registered.resource.spec.networking.inbound.map(({ tags }) => tags[SERVICE_TAG] ?? ''))
    identity.attach({
      subject,
      id: sessionId,
      services: services.size === 0 ? [subject.name] : [...services],
      onRenewed: () => streams.get(sessionId)?.wantsPush(),
    })
    return { undo: () => identity.detach(subject, sessionId) }
  }

  /** The last step: from here on it is a session that pages show and whose status is stored. */
  function startStatus({ identity, sessionId }: Connecting) {
    const stream = opening.get(sessionId)
    if (stream === undefined) throw new CoreError('aborted', 'the stream ended while it connected')
    opening.delete(sessionId)
    streams.set(sessionId, stream)
    statuses.set(sessionId, status.open(identity.subject, stream.subscription()))
    sessions.add({ id: sessionId, protocol: 'xds', row: stream.row, resync: stream.resync })
    return {
      undo() {
        streams.delete(sessionId)
        sessions.remove(sessionId)
        const flush = statuses.get(sessionId)?.close({ ...stream.subscription(), disconnectedAt: clock.now() })
        statuses.delete(sessionId)
        if (flush === undefined) return
        lastFlushes.add(flush)
        void flush.finally(() => lastFlushes.delete(flush))
      },
    }
  }

  async function listen(): Promise<void> {
    // Nothing is read before it is let in.
    const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      // A connection that breaks is the end of its streams, nothing more.
      socket.on('error', () => undefined)
      admission.admit(() => {
        if (socket.destroyed) return
        injector.injectConnection(socket)
        socket.resume()
      })
    })
    listener = server
    const { host, port } = options
    try {
      server.listen({ host, port, backlog: BACKLOG })
      await once(server, 'listening')
    } catch (error) {
      const { message } = error as Error
      throw new CoreError('unavailable', `xDS can't listen on ${toHostPort(host, port)}: ${message}; choose another --xds-port`, {
        cause: error,
      })
    }
    // Out of file descriptors, for example: this connection is lost, the next may not be.
    server.on('error', (error) =>
      refusals.note('accept', (count) => log.error({ err: error, count }, 'an xDS connection could not be accepted')),
    )
  }

  async function run(signal: AbortSignal): Promise<void> {
    directory.onChange(pushes.changed, signal)
    tunables.refreshIntervalMs.watch(() => {
      for (const stream of streams.values()) stream.retime()
    }, signal)
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    isStopping = true
    pushes.stop()
    admission.stop()
    refusals.stop()
    // Before any stream ends: its last flush may take longer than the delay of a removal.
    lifecycle.freeze()
    listener?.close()
    for (const stream of [...streams.values(), ...opening.values()]) stream.end(stopping())
    await Promise.allSettled(lastFlushes)
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
  }
}

function stopping(): CoreError {
  return new CoreError('unavailable', 'this instance is shutting down: connect again')
}

function grpcOptions({ keepaliveTimeMs = 15_000, keepaliveTimeoutMs = 5_000 }: XdsServerOptions): ChannelOptions {
  return {
    'grpc.keepalive_time_ms': keepaliveTimeMs,
    'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
    // Records of each call, that nobody reads: what there is to know of a stream its session tells.
    'grpc.enable_channelz': 0,
  }
}

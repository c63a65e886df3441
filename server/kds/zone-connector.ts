import {
  type ChannelOptions,
  Client,
  compressionAlgorithms,
  credentials,
  makeGenericClientConstructor,
  Metadata,
  type ServiceError,
  status as grpcStatus,
} from '@grpc/grpc-js'
import type { KDSSyncServiceClient } from '../gen/kuma/mesh/v1alpha1/KDSSyncService.ts'
import type { GlobalKDSServiceClient } from '../gen/kuma/mesh/v1alpha1/GlobalKDSService.ts'
import type { BackoffPolicy } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { NewId, Random } from '../lib/random.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { SessionRegistry } from '../discovery/session-registry.ts'
import type { Connector, LinkAttempt } from '../link/connector.ts'
import { LinkFailure } from '../link/link-failure.ts'
import type { Resource, ResourceDraft } from '../model/resource.ts'
import type { SessionRow } from '../model/views.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ApplyDeps } from './apply-resources.ts'
import { createDelivery } from './delivery.ts'
import { toGrpcFailure } from './grpc-failure.ts'
import type { KumaResourceCodec } from './kuma-resource.ts'
import { ORIGIN_LABEL } from '../model/origin.ts'
import type { KdsProtos } from './protos.ts'
import { toSessionRow } from './session-row.ts'
import { receiveOn, toDeltaRequest, writerOn } from './streams.ts'
import type { SyncDirectory } from './sync-directory.ts'
import { createSyncReceiver, type SyncReceiver } from './sync-receiver.ts'
import { createSyncSender, type SyncSender } from './sync-sender.ts'
import { HASH_SUFFIX, ownNode } from './zone-node.ts'
import { checkedType, DOWN_TYPES, KDS_WRITER, keptRows, type KdsObserver, LONGEST_RETRY_MS, UP_TYPES } from './zone-sessions.ts'
import { backoffDelayMs } from '../lib/backoff.ts'

export interface ZoneConnectorDeps {
  readonly clock: Clock
  readonly random: Random
  readonly newId: NewId
  readonly protos: KdsProtos
  readonly codec: KumaResourceCodec
  /** What this zone has to send. */
  readonly directory: SyncDirectory
  readonly store: Pick<ResourceStore, 'list' | 'writeBatch'>
  readonly sessions: SessionRegistry
  readonly check: ApplyDeps['check']
  readonly admit: ApplyDeps['admit']
  readonly tunables: {
    readonly flushIntervalMs: Tunable<number>
    readonly fullResyncMs: Tunable<number>
    readonly nackBackoffMs: Tunable<number>
  }
  readonly observer: KdsObserver
  readonly onError: (what: string, error: unknown) => void
}

export interface ZoneConnectorOptions {
  readonly zone: string
  readonly instance: string
  readonly version: string
  /** JSON, for the global: it tells a zone's cadences from it. */
  readonly config: () => string
  readonly global: GlobalAddress
}

export interface GlobalAddress {
  /** host:port */
  readonly target: string
  readonly tls: { readonly rootCertificate: Buffer | undefined; readonly isVerified: boolean } | undefined
}

const MAX_MESSAGE_BYTES = 10 << 20
const CONNECT_WITHIN_MS = 10_000
/** Until the global says how often it wants to hear that we live. */
const HEALTH_INTERVAL_MS = 300_000
/** Without any message, an answer to the health check is what counts as connected; what comes at once comes before it. */
const QUIET_MS = 1_500

/**
 * A zone's connection to its global: one channel, two streams of resources, three that are held open, and the health check. It lives and
 * dies as one: the end of any of them, a clean one too, is a disconnect.
 */
export function createZoneConnector(deps: ZoneConnectorDeps, options: ZoneConnectorOptions): Connector {
  const { clock, protos, tunables } = deps
  const SyncClient = makeGenericClientConstructor(protos.syncService, 'KDSSyncService')
  const GlobalClient = makeGenericClientConstructor(protos.globalService, 'GlobalKDSService')
  const node = () => ownNode(options.zone, { instance: options.instance, version: options.version, config: options.config() })
  const retryBackoff = (): BackoffPolicy => ({
    baseMs: tunables.nackBackoffMs.get(),
    maxMs: LONGEST_RETRY_MS,
    factor: 2,
    jitterPercent: 10,
  })
  /** What the global refused and what ended connections is remembered over them. */
  const delivery = createDelivery({ backoffMs: (attempt) => backoffDelayMs({ ...retryBackoff(), jitterPercent: 0 }, attempt, deps.random) })

  return {
    async connect(attempt) {
      const channel = openChannel(options.global)
      const ending = new AbortController()
      const done = Promise.withResolvers<void>()
      // It may be over before anybody waits for it.
      done.promise.catch(() => undefined)
      const stop = (failure?: unknown) => (failure === undefined ? done.resolve() : done.reject(failure))
      const onAbort = () => stop(attempt.signal.reason)
      attempt.signal.addEventListener('abort', onAbort, { once: true })
      let end: (reason: string) => void = () => undefined
      try {
        await ready(channel, attempt)
        attempt.syncing()
        end = open(channel, { attempt, stop, signal: ending.signal })
        await done.promise
        end('the global ended the stream')
      } catch (error) {
        end((error as Error | undefined)?.message ?? 'ended')
        if (!attempt.signal.aborted) throw error
      } finally {
        attempt.signal.removeEventListener('abort', onAbort)
        ending.abort()
        channel.close()
      }
    },
  }

  interface Connection {
    readonly attempt: LinkAttempt
    readonly stop: (failure?: unknown) => void
    readonly signal: AbortSignal
  }

  async function ready(channel: Client, attempt: LinkAttempt): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    const onAbort = () => waiting.reject(attempt.signal.reason)
    attempt.signal.addEventListener('abort', onAbort, { once: true })
    channel.waitForReady(clock.now() + CONNECT_WITHIN_MS, (error) => {
      if (error === undefined) return waiting.resolve()
      attempt.request('connect', 'UNAVAILABLE')
      const message = `no connection to ${options.global.target} within ${CONNECT_WITHIN_MS / 1000} s`
      waiting.reject(
        toGrpcFailure(
          Object.assign(error, { code: grpcStatus.UNAVAILABLE, details: message, metadata: new Metadata() }),
          options.global.target,
        ),
      )
    })
    try {
      await waiting.promise
    } finally {
      attempt.signal.removeEventListener('abort', onAbort)
    }
    attempt.request('connect', 'OK')
  }

  /** Opens everything; returns what ends it. */
  function open(channel: Client, connection: Connection): (reason: string) => void {
    const { attempt, stop, signal } = connection
    const target = options.global.target
    const channelOverride = channel.getChannel()
    const sync = new SyncClient(target, credentials.createInsecure(), { channelOverride }) as unknown as KDSSyncServiceClient
    const other = new GlobalClient(target, credentials.createInsecure(), { channelOverride }) as unknown as GlobalKDSServiceClient
    const metadata = callMetadata()
    const connectedAt = clock.now()
    let isLive = false
    const cameAlive = () => {
      if (isLive || attempt.signal.aborted) return
      isLive = true
      attempt.live()
    }

    const receiver = createSyncReceiver({
      clock,
      random: deps.random,
      codec: deps.codec,
      store: deps.store,
      writer: KDS_WRITER,
      check: deps.check,
      admit: deps.admit,
      policy: { toDraft: toOwnDraft, isTheirs },
      retryBackoff,
      onCount: deps.observer.response,
      onStatus: () => touched('down'),
      onError: deps.onError,
    })
    const down = watched(sync.GlobalToZoneSync(metadata))
    const up = watched(sync.ZoneToGlobalSync(metadata))
    const held = [other.StreamXDSConfigs(metadata), other.StreamStats(metadata), other.StreamClusters(metadata)].map((call) =>
      watched(call, { mayBeMissing: true }),
    )
    for (const call of held) call.resume()

    const sender: SyncSender = createSyncSender({
      clock,
      directory: deps.directory,
      delivery,
      types: UP_TYPES,
      hashSuffix: true,
      flushIntervalMs: () => tunables.flushIntervalMs.get(),
      fullResyncMs: () => tunables.fullResyncMs.get(),
      write: writerOn(up, () => sender.drained()),
      onCount: deps.observer.response,
      onDelivered: deps.observer.delivered,
      onStatus: () => touched('up'),
      onFault: stop,
    })
    up.on('data', (message) => {
      attempt.event('message')
      sender.handle(message.type_url, toDeltaRequest(message))
    })
    deps.directory.onChange(sender.changed, signal)
    receiveOn(down, receiver, {
      types: DOWN_TYPES,
      node: node(),
      onMessage() {
        attempt.event('message')
        cameAlive()
      },
      onFail: stop,
    })
    checkHealth()

    const ids = { down: deps.newId(), up: deps.newId() }
    const rows = { down: () => rowOf('down', { receiver, sender }), up: () => rowOf('up', { receiver, sender }) }
    for (const direction of ['down', 'up'] as const)
      deps.sessions.add({
        id: ids[direction],
        protocol: 'kds',
        row: rows[direction],
        resync: (type) => {
          if (direction === 'up') return sender.resync(checkedType(type, UP_TYPES))
          // Only a new connection makes a global send everything again.
          stop(new LinkFailure('closed_early', 'connected again by hand, so that the global sends everything again'))
        },
      })

    return (reason) => {
      sender.stop({ reason, byUs: attempt.signal.aborted })
      receiver.stop()
      for (const call of [down, up, ...held]) call.cancel()
      for (const id of Object.values(ids)) deps.sessions.remove(id)
    }

    function rowOf(direction: 'down' | 'up', ends: { readonly receiver: SyncReceiver; readonly sender: SyncSender }): SessionRow {
      const retryAt = ends.sender.retryAt()
      return toSessionRow(
        {
          id: ids[direction],
          subject: { type: 'Zone', mesh: '', name: options.zone },
          nodeId: options.zone,
          peer: target,
          connectedAt,
          agent: null,
          direction,
          retryAt: direction === 'down' ? nextTryOf(ends.receiver) : retryAt === undefined ? null : toEpoch(retryAt),
          refused:
            direction === 'down'
              ? keptRows(ends.receiver)
              : UP_TYPES.flatMap((type) => delivery.suspects(type).map((suspect) => ({ type, ...suspect, since: toEpoch(suspect.since) }))),
        },
        direction === 'down' ? ends.receiver.status() : ends.sender.status(),
        direction === 'down' ? new Set() : ends.sender.unanswered(),
      )
    }

    function touched(direction: 'down' | 'up') {
      deps.sessions.touched(ids[direction])
    }

    /** The end of one is the end of all. */
    function watched<
      C extends { on(event: 'error', listener: (error: ServiceError) => void): unknown; on(event: 'end', listener: () => void): unknown },
    >(call: C, { mayBeMissing = false } = {}): C {
      let isMissing = false
      call.on('error', (error: ServiceError) => {
        isMissing = mayBeMissing && error.code === grpcStatus.UNIMPLEMENTED
        if (!isMissing && !signal.aborted) stop(toGrpcFailure(error, target))
      })
      // After an error there is an end, too.
      call.on('end', () => queueMicrotask(() => !isMissing && !signal.aborted && stop()))
      return call
    }

    function checkHealth() {
      other.HealthCheck({}, metadata, { deadline: clock.now() + CONNECT_WITHIN_MS }, (error, answer) => {
        if (signal.aborted) return
        if (error !== null && error.code !== grpcStatus.UNIMPLEMENTED) return stop(toGrpcFailure(error, target))
        attempt.bookmark()
        if (!isLive) clock.at(clock.monotonic() + QUIET_MS, () => signal.aborted || cameAlive())
        const askedMs = (answer?.interval?.seconds ?? 0) * 1000
        const timer = clock.at(clock.monotonic() + (askedMs > 0 ? askedMs : HEALTH_INTERVAL_MS), checkHealth)
        signal.addEventListener('abort', timer.cancel, { once: true })
      })
    }
  }

  function callMetadata(): Metadata {
    const metadata = new Metadata()
    metadata.set('client-id', options.zone)
    metadata.set('version', options.version)
    metadata.set('kds-version', 'v3')
    metadata.add('features', 'zone-ping-health')
    metadata.add('features', HASH_SUFFIX)
    return metadata
  }

  function nextTryOf(receiver: SyncReceiver): number | null {
    const kept = receiver.refused()
    return kept.length === 0 ? null : toEpoch(Math.min(...kept.map(({ nextTryAt }) => nextTryAt)))
  }

  function toEpoch(moment: number): number {
    return Math.round(clock.now() + (moment - clock.monotonic()))
  }
}

function openChannel({ target, tls }: GlobalAddress): Client {
  const channelOptions: ChannelOptions = {
    'grpc.keepalive_time_ms': 15_000,
    'grpc.keepalive_timeout_ms': 15_000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    // The link knows when to try again.
    'grpc.enable_retries': 0,
  }
  const secured =
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(tls.rootCertificate ?? null, null, null, { rejectUnauthorized: tls.isVerified })
  return new Client(target, secured, channelOptions)
}

/** As it came, but for where it comes from: that we know. */
function toOwnDraft({ key, labels, spec }: Pick<Resource, 'key' | 'labels'> & { readonly spec: object }): ResourceDraft {
  return { key, labels: { ...labels, [ORIGIN_LABEL]: 'global' }, spec }
}

/** Only what came from a global is its to take away: what was made here stays. */
function isTheirs({ labels }: Pick<Resource, 'labels'>): boolean {
  return labels[ORIGIN_LABEL] === 'global'
}

import type { Metadata } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { backoffDelayMs } from '../lib/backoff.ts'
import type { Clock } from '../lib/clock.ts'
import { CoreError, toCoreError } from '../lib/errors.ts'
import { toGrpcStatus } from '../lib/grpc-status.ts'
import type { NewId, Random } from '../lib/random.ts'
import { createSparseLog } from '../lib/sparse-log.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { SessionRegistry } from '../discovery/session-registry.ts'
import type { StatusPort, StatusSession } from '../discovery/status-port.ts'
import type { Subscription, TypeStatus } from '../model/insight.ts'
import { kumaTypes } from '../model/kuma-types.ts'
import type { Resource, ResourceDraft } from '../model/resource.ts'
import type { RefusedRow, SessionRow } from '../model/views.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { createDelivery, type Delivery } from './delivery.ts'
import type { KumaResourceCodec } from './kuma-resource.ts'
import { MESH_LABEL } from './peer-name.ts'
import { ORIGIN_LABEL, ZONE_LABEL } from '../model/origin.ts'
import { type ReceiverStream, receiveOn, type SenderStream, toDeltaRequest, writerOn } from './streams.ts'
import { toSessionRow } from './session-row.ts'
import type { SyncDirectory } from './sync-directory.ts'
import { createSyncReceiver, type SyncReceiver } from './sync-receiver.ts'
import { createSyncSender, type SyncSender } from './sync-sender.ts'
import { ownNode, readCaller, readZoneNode, type ZoneCaller, type ZoneNode } from './zone-node.ts'

/** The streams of the zones that are connected to this global, in both directions. */
export interface ZoneSessions {
  openDown(call: DownCall): void
  openUp(call: UpCall): void
  /** A stream that is held open until we stop. */
  hold(call: AnyCall): void
  /** The zone has said that it lives. */
  isAlive(zone: string): void
  run(signal: AbortSignal): Promise<void>
  sizes(): { readonly streams: number; readonly held: number; readonly zones: number }
}

export type DownCall = SenderStream & AnyCall
export type UpCall = ReceiverStream & AnyCall
/** What every stream has, whatever it carries. */
export interface AnyCall {
  readonly metadata: Metadata
  on(event: 'end' | 'cancelled' | 'close' | 'error', listener: () => void): unknown
  end(): unknown
  emit(event: 'error', status: ReturnType<typeof toGrpcStatus>): boolean
  getPeer(): string
}

export interface ZoneSessionsDeps {
  readonly clock: Clock
  readonly newId: NewId
  readonly random: Random
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
  readonly instance: string
  readonly version: string
  readonly codec: KumaResourceCodec
  readonly directory: SyncDirectory
  readonly store: Pick<ResourceStore, 'list' | 'writeBatch' | 'changes'>
  /** Makes the Zone if it is not there; rejects with `forbidden` when it is disabled. */
  readonly register: (zone: ZoneCaller) => Promise<void>
  readonly sessions: SessionRegistry
  readonly status: StatusPort
  readonly check: (draft: ResourceDraft) => void
  readonly tunables: {
    readonly flushIntervalMs: Tunable<number>
    readonly fullResyncMs: Tunable<number>
    readonly nackBackoffMs: Tunable<number>
  }
  readonly observer: KdsObserver
}

export interface KdsObserver {
  response(type: string, result: 'sent' | 'ack' | 'nack'): void
  delivered(type: string, seconds: number): void
}

export const KDS_WRITER = 'kds-sync'
/** Owners before what they own. */
export const DOWN_TYPES = kumaTypes.filter(({ syncs }) => syncs !== 'up').map(({ type }) => type)
export const UP_TYPES = kumaTypes.filter(({ syncs }) => syncs !== 'down').map(({ type }) => type)
/** However long a refusal lasts, it is tried again so often. */
export const LONGEST_RETRY_MS = 60_000

interface Stream {
  readonly id: string
  readonly zone: ZoneCaller
  readonly direction: 'down' | 'up'
  readonly connectedAt: number
  node: ZoneNode | undefined
  nodeId: string
  types(): Readonly<Record<string, TypeStatus>>
  row(): SessionRow
  end(error: CoreError): void
}

export function createZoneSessions(deps: ZoneSessionsDeps): ZoneSessions {
  const { clock, newId, log, sessions, status, tunables, observer } = deps
  const streams = new Set<Stream>()
  const statuses = new Map<Stream, StatusSession>()
  const held = new Set<AnyCall>()
  const lastFlushes = new Set<Promise<void>>()
  /** What a zone refused and what ended its connections is remembered while it is away, until its Zone is deleted. */
  const deliveries = new Map<string, Delivery>()
  const healthAt = new Map<string, number>()
  const ending = new AbortController()
  const refusals = createSparseLog(clock)
  let isStopping = false

  return {
    openDown: (call) => open(call, 'down', (zone) => startDown(call, zone)),
    openUp: (call) => open(call, 'up', (zone) => startUp(call, zone)),
    hold(call) {
      held.add(call)
      call.on('close', () => held.delete(call))
      call.on('cancelled', () => held.delete(call))
    },
    isAlive(zone) {
      if (hasStreams(zone)) healthAt.set(zone, clock.now())
      for (const stream of streams) if (stream.zone.name === zone) report(stream)
    },
    sizes: () => ({ streams: streams.size, held: held.size, zones: deliveries.size }),
    async run(signal) {
      const forgetting = forgetDeleted(signal)
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      isStopping = true
      ending.abort()
      refusals.stop()
      for (const stream of streams) stream.end(stopping())
      for (const call of held) call.emit('error', toGrpcStatus(stopping()))
      await Promise.allSettled([forgetting, ...lastFlushes])
    },
  }

  function open(call: AnyCall, direction: 'down' | 'up', start: (zone: ZoneCaller) => Promise<Stream>) {
    const fail = (error: unknown) => {
      const cause = toCoreError(error)
      if (!isStopping)
        refusals.note(cause.code, (count) =>
          log.info({ code: cause.code, reason: cause.message, direction, count }, 'refused a KDS stream'),
        )
      call.emit('error', toGrpcStatus(cause))
    }
    call.on('error', () => undefined)
    try {
      if (isStopping) throw stopping()
      const zone = readCaller(call.metadata)
      void start(zone).catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  async function startDown(call: DownCall, zone: ZoneCaller): Promise<Stream> {
    const queue: Parameters<typeof onRequest>[0][] = []
    let take: ((message: Parameters<typeof onRequest>[0]) => void) | undefined
    call.on('data', (message) => (take === undefined ? queue.push(message) : take(message)))
    let sender: SyncSender | undefined
    const stream = await admit(call, zone, {
      direction: 'down',
      types: () => sender?.status() ?? {},
      unanswered: () => sender?.unanswered() ?? new Set(),
      retryAt: () => sender?.retryAt(),
      refused: () => DOWN_TYPES.flatMap((type) => suspectsOf(zone.name, type)),
      resync: (type) => sender?.resync(checkedType(type, DOWN_TYPES)),
      stop: (reason) => sender?.stop({ reason, byUs: isStopping }),
    })
    take = (message) => onRequest(message)
    for (const message of queue.splice(0)) onRequest(message)
    const following = new AbortController()
    call.on('close', () => following.abort())
    deps.directory.onChange(() => sender?.changed(), following.signal)
    return stream

    function onRequest(message: Parameters<Parameters<SenderStream['on']>[1]>[0]) {
      try {
        if (sender === undefined) {
          stream.node = readZoneNode(message.node)
          stream.nodeId = message.node?.id ?? ''
          sender = senderFor(call, stream, stream.node)
        }
        sender.handle(message.type_url, toDeltaRequest(message))
      } catch (error) {
        stream.end(toCoreError(error))
      }
    }
  }

  function senderFor(call: DownCall, stream: Stream, { hashSuffix }: ZoneNode): SyncSender {
    const sender = createSyncSender({
      clock,
      directory: deps.directory,
      delivery: deliveryOf(stream.zone.name),
      types: DOWN_TYPES,
      hashSuffix,
      flushIntervalMs: () => tunables.flushIntervalMs.get(),
      fullResyncMs: () => tunables.fullResyncMs.get(),
      write: writerOn(call, () => sender.drained()),
      onCount: (type, what) => observer.response(type, what),
      onDelivered: (type, seconds) => observer.delivered(type, seconds),
      onStatus: () => report(stream),
      onFault: (error) => stream.end(toCoreError(error)),
    })
    return sender
  }

  async function startUp(call: UpCall, zone: ZoneCaller): Promise<Stream> {
    const receiver: SyncReceiver = createSyncReceiver({
      clock,
      random: deps.random,
      codec: deps.codec,
      store: deps.store,
      writer: KDS_WRITER,
      check: deps.check,
      policy: { toDraft: (resource) => toZoneDraft(zone, resource), isTheirs: ({ labels }) => labels[ZONE_LABEL] === zone.name },
      retryBackoff: () => ({ baseMs: tunables.nackBackoffMs.get(), maxMs: LONGEST_RETRY_MS, factor: 2, jitterPercent: 10 }),
      onCount: (type, what) => observer.response(type, what),
      onStatus: () => report(stream),
      onError: (what, error) => log.warn({ err: error, zone: zone.name }, `could not ${what}`),
    })
    const stream = await admit(call, zone, {
      direction: 'up',
      types: receiver.status,
      unanswered: () => new Set(),
      retryAt: () => undefined,
      refused: () => keptRows(receiver),
      resync: () => {
        throw new CoreError(
          'invalid',
          `what zone ${zone.name} sends is its own to send again: resync the stream from the global to the zone, or restart the zone's connection`,
        )
      },
      stop: () => receiver.stop(),
    })
    stream.nodeId = zone.name
    receiveOn(call, receiver, {
      types: UP_TYPES,
      node: ownNode(zone.name, { instance: deps.instance, version: deps.version, config: '' }),
      onFail: (error) => stream.end(toCoreError(error)),
    })
    return stream
  }

  interface StreamParts {
    readonly direction: 'down' | 'up'
    readonly types: () => Readonly<Record<string, TypeStatus>>
    readonly unanswered: () => ReadonlySet<string>
    readonly retryAt: () => number | undefined
    readonly refused: () => readonly RefusedRow[]
    readonly resync: (type?: string) => void
    readonly stop: (reason: string) => void
  }

  /** From here on it is a session that pages show and whose status is stored. An older stream of the same zone and direction hangs: it goes. */
  async function admit(call: AnyCall, zone: ZoneCaller, parts: StreamParts): Promise<Stream> {
    const { direction } = parts
    let isOver = false
    // A clean end, too: it is told once, and nobody else listens yet.
    for (const event of ['end', 'cancelled', 'close'] as const) call.on(event, () => (isOver = true))
    await deps.register(zone)
    if (isOver || isStopping) throw isStopping ? stopping() : new CoreError('aborted', 'the stream ended while it connected')
    for (const other of streams)
      if (other.zone.name === zone.name && other.direction === direction)
        other.end(new CoreError('conflict', `zone ${zone.name} has opened a newer stream`))
    const id = newId()
    let finalTypes: Readonly<Record<string, TypeStatus>> | undefined
    const stream: Stream = {
      id,
      zone,
      direction,
      connectedAt: clock.now(),
      node: undefined,
      nodeId: '',
      types: () => finalTypes ?? parts.types(),
      row: () => toRow(),
      end(error) {
        if (finalTypes !== undefined) return
        finish(error.message)
        if (!isStopping) log.warn({ err: error, zone: zone.name, direction }, 'ended a KDS stream; the zone connects again')
        call.emit('error', toGrpcStatus(error))
      },
    }
    streams.add(stream)
    statuses.set(stream, status.open(zone.subject, subscriptionOf(stream)))
    sessions.add({ id, protocol: 'kds', row: stream.row, resync: parts.resync })
    log.info({ zone: zone.name, direction, agent: zone.agent }, 'a zone has connected')
    call.on('end', () => {
      finish('the zone ended the stream')
      call.end()
    })
    call.on('cancelled', () => finish('the zone ended its connection'))
    call.on('close', () => finish('the connection was lost'))
    return stream

    function finish(reason: string) {
      if (finalTypes !== undefined) return
      finalTypes = parts.types()
      parts.stop(reason)
      streams.delete(stream)
      sessions.remove(id)
      const flush = statuses.get(stream)?.close({ ...subscriptionOf(stream), disconnectedAt: clock.now() })
      statuses.delete(stream)
      if (!hasStreams(zone.name)) healthAt.delete(zone.name)
      if (flush === undefined) return
      lastFlushes.add(flush)
      void flush.finally(() => lastFlushes.delete(flush))
    }

    function toRow(): SessionRow {
      const retryAt = parts.retryAt()
      return toSessionRow(
        {
          id,
          subject: zone.subject,
          nodeId: stream.nodeId,
          peer: call.getPeer(),
          connectedAt: stream.connectedAt,
          agent: agentOf(stream) ?? null,
          direction,
          retryAt: retryAt === undefined ? null : toEpoch(retryAt),
          refused: parts.refused(),
        },
        stream.types(),
        parts.unanswered(),
      )
    }
  }

  function report(stream: Stream) {
    statuses.get(stream)?.update(subscriptionOf(stream))
    sessions.touched(stream.id)
  }

  function subscriptionOf(stream: Stream): Subscription {
    const agent = agentOf(stream)
    const config = stream.node?.config
    const alive = healthAt.get(stream.zone.name)
    return {
      id: stream.id,
      instance: deps.instance,
      variant: 'delta',
      direction: stream.direction,
      connectedAt: stream.connectedAt,
      generation: 0,
      types: stream.types(),
      ...(agent !== undefined && { agent }),
      ...(config !== undefined && { config }),
      ...(alive !== undefined && { healthAt: alive }),
    }
  }

  function hasStreams(zone: string): boolean {
    return streams.values().some((stream) => stream.zone.name === zone)
  }

  async function forgetDeleted(signal: AbortSignal) {
    for await (const change of deps.store.changes(signal)) {
      if (change.kind === 'deleted' && change.key.type === 'Zone') deliveries.delete(change.key.name)
      // Which ones went meanwhile is not told: what an absent zone was refused is found again when it is back.
      if (change.kind === 'resync') for (const zone of deliveries.keys()) if (!hasStreams(zone)) deliveries.delete(zone)
    }
  }

  function deliveryOf(zone: string): Delivery {
    const known = deliveries.get(zone)
    if (known !== undefined) return known
    const delivery = createDelivery({
      backoffMs: (attempt) =>
        backoffDelayMs(
          {
            baseMs: tunables.nackBackoffMs.get(),
            maxMs: Math.max(LONGEST_RETRY_MS, tunables.nackBackoffMs.get()),
            factor: 2,
            jitterPercent: 0,
          },
          attempt,
          deps.random,
        ),
    })
    deliveries.set(zone, delivery)
    return delivery
  }

  function suspectsOf(zone: string, type: string): readonly RefusedRow[] {
    return (deliveries.get(zone)?.suspects(type) ?? []).map(({ name, reason, since, times, oneOf, kind }) => ({
      type,
      name,
      reason,
      since: toEpoch(since),
      times,
      oneOf,
      kind,
    }))
  }

  function toEpoch(moment: number): number {
    return Math.round(clock.now() + (moment - clock.monotonic()))
  }
}

/** What a zone made belongs to it here, whatever it says: deleting the Zone deletes all of it. */
function toZoneDraft(
  { name: zone, subject }: ZoneCaller,
  { key, labels, spec }: Pick<Resource, 'key' | 'labels'> & { readonly spec: object },
): ResourceDraft {
  return {
    key,
    labels: { ...labels, ...(key.mesh !== '' && { [MESH_LABEL]: key.mesh }), [ORIGIN_LABEL]: 'zone', [ZONE_LABEL]: zone },
    owner: subject,
    spec,
  }
}

/** What a receiver of ours refused, resource by resource. */
export function keptRows(receiver: Pick<SyncReceiver, 'refused'>): readonly RefusedRow[] {
  return receiver.refused().map(({ key, reason, since, times }) => ({
    type: key.type,
    name: `${key.name}.${key.mesh}`,
    reason,
    since,
    times,
    oneOf: 1,
    kind: 'refused',
  }))
}

export function checkedType(type: string | undefined, known: readonly string[]): string | undefined {
  if (type === undefined || known.includes(type)) return type
  throw new CoreError('invalid', `there is no type "${type}" on this stream; known: ${known.join(', ')}`)
}

function agentOf({ zone, node }: Pick<Stream, 'zone' | 'node'>): string | undefined {
  return node?.agent ?? zone.agent
}

function stopping(): CoreError {
  return new CoreError('unavailable', 'this instance is shutting down: connect again')
}

import type { ServerDuplexStream } from '@grpc/grpc-js'
import type { DeltaDiscoveryRequest__Output } from '../gen/envoy/service/discovery/v3/DeltaDiscoveryRequest.ts'
import type { DeltaDiscoveryResponse } from '../gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import type { DiscoveryRequest__Output } from '../gen/envoy/service/discovery/v3/DiscoveryRequest.ts'
import type { DiscoveryResponse } from '../gen/envoy/service/discovery/v3/DiscoveryResponse.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { CoreError, toCoreError } from '../lib/errors.ts'
import { toGrpcStatus } from '../lib/grpc-status.ts'
import { type Answer, createDeltaSession, createSotwSession, type DiscoverySession } from '../discovery/discovery-session.ts'
import type { Subscription } from '../model/insight.ts'
import type { ResourceKey } from '../model/resource.ts'
import type { Present } from '../discovery/discovery.ts'
import type { SessionRow } from '../model/views.ts'
import type { Connecting } from './connect.ts'
import { identifyNode, type NodeIdentity } from './node-identity.ts'
import type { TooLarge } from './message-bounds.ts'
import { type XdsResource, xdsTypes } from './resource-types.ts'
import { toDeltaRequest, toResponse, toSotwRequest } from './stream-messages.ts'

export type Request = DiscoveryRequest__Output | DeltaDiscoveryRequest__Output
export type Call = ServerDuplexStream<Request | TooLarge, DiscoveryResponse | DeltaDiscoveryResponse>

/** One xDS stream, from its first message to its end. */
export interface XdsStream {
  readonly id: string
  readonly subject: ResourceKey | undefined
  /** Whether a change of these names or services of its mesh concerns it. */
  isConcernedBy(change: { readonly mesh: string; readonly names: ReadonlySet<string>; readonly services: ReadonlySet<string> }): boolean
  /** Sends what it lacks, as soon as its refresh interval allows. */
  wantsPush(): void
  /** The refresh interval has changed: what waits for it waits by the new one. */
  retime(): void
  push(): void
  resync(type?: string): void
  row(): SessionRow
  subscription(): Subscription
  /** Ends it from our side. */
  end(error: CoreError): void
}

export interface StreamDeps {
  readonly clock: Clock
  readonly instance: string
  readonly presentFor: (subject: ResourceKey, type: string) => Present<XdsResource>
  readonly nackBackoffMs: () => number
  readonly refreshIntervalMs: () => number
  /** Runs the steps of connecting; resolves with what undoes them. */
  readonly connect: (connecting: Connecting) => Promise<() => void>
  /** Pushes go out one after the other, leaving room between them. */
  readonly enqueue: (stream: XdsStream) => void
  readonly onCount: (type: string, what: 'sent' | 'ack' | 'nack') => void
  readonly onFirstConfig: (type: string, seconds: number) => void
  readonly onStatus: (stream: XdsStream) => void
  readonly onEnd: (stream: XdsStream) => void
  /** It is ended by us, with an error the peer is told. */
  readonly onRefused: (error: CoreError) => void
}

type Phase =
  | { readonly kind: 'new' }
  | { readonly kind: 'connecting'; readonly queue: Request[] }
  | { readonly kind: 'live'; readonly identity: NodeIdentity; readonly session: DiscoverySession<XdsResource>; readonly undo: () => void }
  | { readonly kind: 'ended' }

/** Requests taken in while the steps of connecting run; a real peer sends one or two. */
const MOST_QUEUED = 64
/** Of one type: more than a mesh of many thousand services needs. */
const MOST_NAMES = 50_000
/** A peer that opens a stream says at once who it is; one that does not is not held for ever. */
const FIRST_MESSAGE_WITHIN_MS = 60_000

export interface StreamOptions {
  readonly id: string
  readonly variant: 'sotw' | 'delta'
}

export function openStream(call: Call, deps: StreamDeps, { id, variant }: StreamOptions): XdsStream {
  const { clock } = deps
  const ending = new AbortController()
  const connectedAt = clock.now()
  const openedAt = clock.monotonic()
  let phase: Phase = { kind: 'new' }
  let identity: NodeIdentity | undefined
  let finalTypes: Subscription['types'] = {}
  let isBlocked = false
  /** What a peer that does not read is sent once it does. */
  let owed: 'nothing' | 'push' | 'resync' = 'nothing'
  let isFirst = true
  let lastPushAt = -Infinity
  let timer: Timer | undefined
  let retry: Timer | undefined
  const silence = clock.at(clock.monotonic() + FIRST_MESSAGE_WITHIN_MS, () =>
    fail(new CoreError('invalid', `no message within ${FIRST_MESSAGE_WITHIN_MS / 1000} s: a stream begins with who is there`)),
  )

  const stream: XdsStream = {
    id,
    get subject() {
      return identity?.subject
    },
    isConcernedBy({ mesh, names, services }) {
      if (phase.kind !== 'live' || phase.identity.subject.mesh !== mesh) return false
      return names.has(phase.identity.subject.name) || phase.session.names(services)
    },
    wantsPush() {
      if (timer === undefined && phase.kind === 'live') waitForPush()
    },
    retime() {
      if (timer === undefined) return
      timer.cancel()
      waitForPush()
    },
    push,
    resync(type) {
      if (phase.kind !== 'live') return
      const full = type === undefined ? undefined : xdsTypes.find((each) => each.type === type || each.short === type)?.type
      if (type !== undefined && full === undefined)
        throw new CoreError('invalid', `there is no type "${type}" on this stream; known: ${xdsTypes.map(({ short }) => short).join(', ')}`)
      if (isBlocked) owed = 'resync'
      else send(phase.session.resync(full))
    },
    row,
    subscription,
    end: fail,
  }

  call.on('data', onMessage)
  // Any of these is the end: the peer closed, was cut off, or we ended it.
  call.on('end', () => {
    finish()
    call.end()
  })
  call.on('cancelled', finish)
  call.on('close', finish)
  call.on('error', finish)
  call.on('drain', onDrain)
  return stream

  function onMessage(message: Request | TooLarge) {
    if ('tooLarge' in message) return fail(new CoreError('exhausted', message.tooLarge))
    try {
      switch (phase.kind) {
        case 'new':
          silence.cancel()
          phase = { kind: 'connecting', queue: [message] }
          void start(message)
          return
        case 'connecting':
          phase.queue.push(message)
          if (phase.queue.length > MOST_QUEUED)
            fail(new CoreError('exhausted', `more than ${MOST_QUEUED} requests before the first was answered`))
          return
        case 'live':
          handle(phase, message)
          return
        case 'ended':
      }
    } catch (error) {
      fail(toCoreError(error))
    }
  }

  async function start(first: Request): Promise<void> {
    try {
      identity = identifyNode(first.node)
      const { subject } = identity
      const make = variant === 'sotw' ? createSotwSession<XdsResource> : createDeltaSession<XdsResource>
      const session = make({
        presentOf: (type) => deps.presentFor(subject, type),
        types: xdsTypes,
        clock,
        nackBackoffMs: deps.nackBackoffMs,
        onCount: deps.onCount,
        mostNames: MOST_NAMES,
      })
      const undo = await deps.connect({ identity, sessionId: id, signal: ending.signal })
      if (phase.kind !== 'connecting') return undo()
      const { queue } = phase
      const live: Phase & { kind: 'live' } = { kind: 'live', identity, session, undo }
      phase = live
      for (const message of queue) handle(live, message)
    } catch (error) {
      fail(toCoreError(error))
    }
  }

  function handle({ identity: known, session }: Phase & { kind: 'live' }, message: Request) {
    if (phase.kind !== 'live') return
    const { node, type_url } = message
    if (node !== null && node !== undefined && node.id !== '' && node.id !== known.nodeId) {
      throw new CoreError(
        'invalid',
        `this stream began as node "${known.nodeId}" and now says "${node.id}": one stream is one node; open another`,
      )
    }
    if (!xdsTypes.some(({ type }) => type === type_url)) {
      // A peer may ask for types that have nothing to do with us; it goes on without them.
      if (type_url === '') throw new CoreError('invalid', 'a request must name a type_url')
      return
    }
    const request = 'resource_names' in message ? toSotwRequest(message) : toDeltaRequest(message)
    send(session.handle(type_url, request))
    armRetry()
    deps.onStatus(stream)
  }

  function waitForPush() {
    const dueAt = lastPushAt + deps.refreshIntervalMs()
    timer = undefined
    if (dueAt <= clock.monotonic()) deps.enqueue(stream)
    else timer = clock.at(dueAt, () => deps.enqueue(stream))
  }

  function push() {
    timer?.cancel()
    timer = undefined
    if (phase.kind !== 'live') return
    if (isBlocked) {
      if (owed === 'nothing') owed = 'push'
      return
    }
    try {
      const answers = phase.session.push()
      send(answers)
      armRetry()
      if (answers.length === 0) return
      // What turned out to be no news to this peer does not use up its interval.
      lastPushAt = clock.monotonic()
      deps.onStatus(stream)
    } catch (error) {
      // One stream's trouble ends that stream: the queue has others to serve.
      fail(toCoreError(error))
    }
  }

  function send(answers: readonly Answer<XdsResource>[]) {
    for (const answer of answers) {
      // A peer that does not read is not read from either: what piles up is one answer per request it was allowed to send.
      if (!call.write(toResponse(answer)) && !isBlocked) {
        isBlocked = true
        call.pause()
      }
    }
    const [first] = answers
    if (first !== undefined && isFirst) {
      isFirst = false
      deps.onFirstConfig(first.type, (clock.monotonic() - openedAt) / 1000)
    }
  }

  function onDrain() {
    if (!isBlocked) return
    isBlocked = false
    call.resume()
    const due = owed
    owed = 'nothing'
    if (due === 'push') push()
    else if (due === 'resync') stream.resync()
  }

  /** Wakes when what was refused may be tried again unchanged. */
  function armRetry() {
    retry?.cancel()
    retry = undefined
    if (phase.kind !== 'live') return
    const at = phase.session.deadline()
    if (at !== undefined) retry = clock.at(at, () => deps.enqueue(stream))
  }

  function fail(error: CoreError) {
    if (phase.kind === 'ended') return
    finish()
    deps.onRefused(error)
    call.emit('error', toGrpcStatus(error))
  }

  function finish() {
    if (phase.kind === 'ended') return
    const before = phase
    const last = before.kind === 'live' ? before : undefined
    finalTypes = last?.session.status() ?? {}
    phase = { kind: 'ended' }
    ending.abort()
    silence.cancel()
    timer?.cancel()
    retry?.cancel()
    last?.undo()
    deps.onEnd(stream)
  }

  function subscription(): Subscription {
    const agent = identity?.agent
    return {
      id,
      instance: deps.instance,
      variant,
      connectedAt,
      generation: 0,
      types: phase.kind === 'live' ? phase.session.status() : finalTypes,
      ...(agent !== undefined && { agent }),
    }
  }

  function row(): SessionRow {
    const unanswered = phase.kind === 'live' ? phase.session.unanswered() : new Set<string>()
    const types = Object.entries(subscription().types).map(([type, { sent, acked, nacked, rejection, lastAt, recovered }]) => ({
      type,
      sent,
      acked,
      nacked,
      status: rejection !== undefined ? ('rejected' as const) : unanswered.has(type) ? ('pending' as const) : ('synced' as const),
      error: rejection?.reason ?? null,
      lastAt,
      rejection: rejection ?? null,
      recovered: recovered ?? null,
    }))
    return {
      id,
      protocol: 'xds',
      variant,
      subject: identity?.subject ?? { type: 'Dataplane', mesh: '', name: '' },
      nodeId: identity?.nodeId ?? '',
      peer: call.getPeer(),
      connectedAt,
      agent: identity?.agent ?? null,
      direction: null,
      retryAt: null,
      refused: [],
      types,
    }
  }
}

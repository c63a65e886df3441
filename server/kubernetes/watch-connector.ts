import { assertNever } from '../lib/assert-never.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { Connector, LinkAttempt, LinkRelistReason } from '../link/connector.ts'
import { isLinkFailure, LinkFailure } from '../link/link-failure.ts'
import { retryAfterOf, statusOf, toRefusal } from './answer-failure.ts'
import { toConnectionFailure } from './connection-failure.ts'
import { discoverKind } from './discover-kind.ts'
import { type KubeAnswer, type KubeClient, SilenceError } from './kube-client.ts'
import { type KubeObject, isRecord, listIn, objectNameOf, textIn, toKubeObject } from './kube-object.ts'
import type { KubeStatus } from './kube-status.ts'
import { createLineDecoder, type DecodedLine } from './line-decoder.ts'
import { nameOf, readWatchLine } from './read-event.ts'
import { type ReflectorWriter, type Relist, UnreadableObject } from './reflector.ts'
import { collectionPath, type WatchedKind, type WatcherConfig } from './watched-kind.ts'
import { nextWatchAction, nextWatchStep, NOTHING_KNOWN, type WatchAction, type WatchOutcome, type WatchPhase } from './watch-state.ts'

export interface WatchConnectorDeps {
  readonly clock: Clock
  readonly client: KubeClient
  /** Where what is watched is kept. This connector is its only writer. */
  readonly writer: ReflectorWriter
  /** When an object was last changed over there, by what it says itself; undefined when nothing says. For the lag of events. */
  readonly changedAt: (object: KubeObject) => number | undefined
  readonly serverTimeoutMs: Tunable<number>
  readonly idleTimeoutMs: Tunable<number>
}

const PAGE_SIZE = 500
/** While everything is read, silence means more than between events. */
const LIST_SILENCE_MS = 30_000
/** A watch that was accepted and stays quiet for so long is well; a refusal inside it comes at once. */
const QUIET_MS = 250

/** Keeps a copy of one collection by list + watch: what `WatchMemory` says, on the wire. */
export function createWatchConnector(deps: WatchConnectorDeps, config: Omit<WatcherConfig, 'id' | 'freshness'>): Connector {
  const { clock, client, writer, changedAt } = deps
  const { namespace, labelSelector, fieldSelector } = config
  let kind: WatchedKind | undefined
  let memory = NOTHING_KNOWN

  return {
    async connect(attempt) {
      try {
        kind ??= await discoverKind(client, config, { attempt, verb: 'connect' })
        attempt.objects(writer.size())
        for (;;) {
          const end = await perform(nextWatchAction(memory), kind, attempt)
          if (end === 'over') return
        }
      } catch (error) {
        settle({ kind: 'broken' })
        if (attempt.signal.aborted) throw attempt.signal.reason
        const failure = failureOf(error)
        // Another one may be installed by the time we are back.
        if (failure.class === 'not_found') kind = undefined
        throw failure
      }
    },
  }

  function failureOf(error: unknown): LinkFailure {
    if (isLinkFailure(error)) return error
    if (error instanceof SilenceError) return new LinkFailure('idle', error.message)
    return isSystemError(error)
      ? toConnectionFailure(error, client.endpoint)
      : new LinkFailure('protocol', `unexpected: ${(error as Error).message}`, { cause: error })
  }

  function perform(action: WatchAction, of: WatchedKind, attempt: LinkAttempt): Promise<'next' | 'over'> {
    switch (action.kind) {
      case 'page_list':
        return listByPages(of, action.reason, attempt)
      case 'stream_list':
        return follow(of, { kind: 'stream_list', reason: action.reason }, attempt)
      case 'check':
        return check(of, action.version, attempt)
      case 'watch':
        return follow(of, action, attempt)
      default:
        return assertNever(action)
    }
  }

  /** What comes next; throws what the attempt fails with. */
  function settle(outcome: WatchOutcome, refusal?: Refused): 'next' | 'over' {
    const step = nextWatchStep(memory, outcome)
    memory = step.memory
    switch (step.next.kind) {
      case 'go_on':
        return 'next'
      case 'end':
        return 'over'
      case 'no_version':
        throw new LinkFailure('protocol', 'no resource version: the list says no version to go on from', {
          hint: `${client.endpoint.server} answered a list without metadata.resourceVersion: check that the address is a Kubernetes API server and not something before it.`,
        })
      case 'fail':
        throw toRefusal({
          status: refusal!.status,
          retryAfterMs: refusal!.retryAfterMs,
          asked: { kind: kind!, namespace, context: client.endpoint.context },
        })
      default:
        return assertNever(step.next)
    }
  }

  interface Refused {
    readonly status: KubeStatus
    readonly retryAfterMs?: number | undefined
  }

  async function refused(answer: KubeAnswer, phase: WatchPhase): Promise<'next' | 'over'> {
    const body = await answer.text()
    const status = statusOf(answer.code, body)
    return settle({ kind: 'refused', phase, status }, { status, retryAfterMs: retryAfterOf(answer.header('retry-after')) })
  }

  async function listByPages(of: WatchedKind, reason: LinkRelistReason, attempt: LinkAttempt): Promise<'next' | 'over'> {
    const release = await attempt.listTurn()
    try {
      attempt.syncing()
      const relist = writer.relist()
      let next: string | undefined
      do {
        const answer = await client.get(pathOf(of, { limit: String(PAGE_SIZE), continue: next }), { attempt, verb: 'list' })
        if (answer.code !== 200) return await refused(answer, 'page_list')
        const page = readPage(await answer.text())
        for (const item of page.items) add(relist, item, attempt)
        if (page.next === undefined) {
          await relist.swap()
          attempt.relist(reason)
          attempt.objects(writer.size())
          return settle({ kind: 'listed', version: page.version })
        }
        next = page.next
      } while (!attempt.signal.aborted)
      throw attempt.signal.reason
    } finally {
      release()
    }
  }

  async function check(of: WatchedKind, version: string, attempt: LinkAttempt): Promise<'next' | 'over'> {
    const path = pathOf(of, { limit: '1', resourceVersion: version, resourceVersionMatch: 'NotOlderThan' })
    const answer = await client.get(path, { attempt, verb: 'connect' })
    if (answer.code !== 200) return refused(answer, 'check')
    await answer.text()
    return settle({ kind: 'checked' })
  }

  function readPage(body: string) {
    let value: unknown
    try {
      value = JSON.parse(body)
    } catch {
      throw new LinkFailure('protocol', `${client.endpoint.server} answered a list with what is no JSON: ${body.slice(0, 80)}`)
    }
    const metadata = isRecord(value) ? value['metadata'] : undefined
    const token = textIn(metadata, 'continue')
    return { items: listIn(value, 'items'), version: textIn(metadata, 'resourceVersion'), next: token === '' ? undefined : token }
  }

  function add(relist: Relist, item: unknown, attempt: LinkAttempt): void {
    const object = toKubeObject(item)
    if (object === undefined) return attempt.bad(`an object without name or version: ${nameOf(item)}`)
    readable(object, attempt, () => relist.add(object))
  }

  /** One object that cannot be made sense of is not the end of the others. */
  function readable(object: KubeObject, attempt: LinkAttempt, read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof UnreadableObject)) throw error
      attempt.bad(`${objectNameOf(object.metadata)}: ${error.message}`)
    }
  }

  /** A watch, and before it, where there is no copy yet, the list in the same stream. */
  async function follow(
    of: WatchedKind,
    action: Extract<WatchAction, { kind: 'stream_list' | 'watch' }>,
    attempt: LinkAttempt,
  ): Promise<'next' | 'over'> {
    const isList = action.kind === 'stream_list'
    let release: (() => void) | undefined = isList ? await attempt.listTurn() : undefined
    let relist: Relist | undefined
    let answer: KubeAnswer | undefined
    let quiet: Timer | undefined
    let isLive = false
    const isWell = () => {
      if (isLive) return
      isLive = true
      attempt.live()
    }
    const waitForQuiet = () => {
      quiet = clock.at(clock.monotonic() + QUIET_MS, () => {
        settle({ kind: 'well' })
        isWell()
      })
    }
    try {
      if (isList) {
        attempt.syncing()
        relist = writer.relist()
      }
      answer = await client.get(watchPath(of, action), { attempt, verb: isList ? 'list' : 'watch' })
      if (answer.code !== 200) return await refused(answer, action.kind)
      if (!isList) waitForQuiet()
      const decoder = createLineDecoder()
      for await (const chunk of answer.chunks(() => (relist === undefined ? deps.idleTimeoutMs.get() : LIST_SILENCE_MS))) {
        for (const line of decoder.push(chunk)) {
          const read = toWatchLine(line)
          switch (read.kind) {
            case 'bad':
              attempt.bad(read.what)
              break
            case 'error':
              attempt.event('error')
              return settle({ kind: 'refused', phase: action.kind, status: read.status }, { status: read.status })
            case 'bookmark':
              if (relist === undefined) {
                settle({ kind: 'bookmark', version: read.version })
                attempt.bookmark()
              } else if (read.endsInitialEvents) {
                await relist.swap()
                if (isList) attempt.relist(action.reason)
                relist = undefined
                release?.()
                attempt.objects(writer.size())
                settle({ kind: 'listed', version: read.version })
                waitForQuiet()
                attempt.bookmark()
              } else return settle({ kind: 'no_streaming' })
              break
            case 'object':
              if (relist === undefined) takeEvent(read.change, read.object, attempt)
              else if (read.change === 'added') add(relist, read.object, attempt)
              // Of a list, there is only what is.
              else return settle({ kind: 'no_streaming' })
              break
            default:
              assertNever(read)
          }
          if (relist === undefined) isWell()
        }
      }
      if (decoder.pendingBytes() > 0) attempt.bad(`the stream ended in the middle of a line, after ${decoder.pendingBytes()} bytes of it`)
      return relist === undefined ? settle({ kind: 'ended' }) : settle({ kind: 'no_streaming' })
    } catch (error) {
      if (relist !== undefined && error instanceof SilenceError && !attempt.signal.aborted) return settle({ kind: 'no_streaming' })
      throw error
    } finally {
      quiet?.cancel()
      answer?.close()
      release?.()
      release = undefined
    }
  }

  function takeEvent(change: 'added' | 'modified' | 'deleted', object: KubeObject, attempt: LinkAttempt): void {
    readable(object, attempt, () => {
      const done = writer.apply(change, object)
      if (done === 'unchanged') return
      // The last write of what is deleted was long before: when it was deleted nothing says.
      const at = done === 'deleted' ? undefined : changedAt(object)
      attempt.event(done, at === undefined ? {} : { lagMs: Math.max(0, clock.now() - at) })
      if (done !== 'modified') attempt.objects(writer.size())
    })
    settle({ kind: 'event', version: object.metadata.resourceVersion })
  }

  function pathOf(of: WatchedKind, query: Readonly<Record<string, string | undefined>>): string {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries({ labelSelector, fieldSelector, ...query }))
      if (value !== undefined) parameters.set(name, value)
    return `${collectionPath(of, namespace)}?${parameters.toString()}`
  }

  function watchPath(of: WatchedKind, action: Extract<WatchAction, { kind: 'stream_list' | 'watch' }>): string {
    const timeoutSeconds = String(Math.max(1, Math.floor(deps.serverTimeoutMs.get() / 1000)))
    const watch = { watch: '1', allowWatchBookmarks: 'true', timeoutSeconds }
    return pathOf(
      of,
      action.kind === 'watch'
        ? { ...watch, resourceVersion: action.version }
        : { ...watch, sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
    )
  }
}

function toWatchLine(line: DecodedLine) {
  if (line.kind === 'line') return readWatchLine(line.text)
  return { kind: 'bad' as const, what: `a line of ${line.bytes} bytes, longer than any object` }
}

function isSystemError(error: unknown): boolean {
  return error instanceof AggregateError || typeof (error as NodeJS.ErrnoException | undefined)?.code === 'string'
}

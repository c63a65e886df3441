import type { Logger } from 'pino'
import { assertNever } from '../lib/assert-never.ts'
import { backoffDelayMs } from '../lib/backoff.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { CoreError, type ErrorCode, toCoreError } from '../lib/errors.ts'
import type { StatusPort } from '../discovery/status-port.ts'
import { type DataplaneInsight, insightKeyOf, type Subscription } from '../model/insight.ts'
import { formatKey, type KeyString, type LostTo, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { TunableKey } from '../model/tunables.ts'
import type { SinkRow } from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'
import type { ResourceStore, Write } from '../store/resource-store.ts'
import type { ConflictLedger } from '../telemetry/conflict-ledger.ts'
import { createFlushScheduler, type FlushItem, type TempoPart } from './flush-scheduler.ts'
import { type FlushOutcome, toTempo } from './flush-state.ts'
import type { InsightBoard } from './insight-board.ts'
import { mergeInsight, type ObservedStream } from './insight-merge.ts'
import { createSinkStatistics, type FlushResult } from './sink-statistics.ts'

/**
 * Writes what streams report into the insights of their subjects (data planes, zones): the newest state of each, at most once
 * per interval, many in one transaction.
 *
 * All streams of one subject are one insight and are written together, so a reconnect that overlaps its predecessor does
 * not conflict with it. A conflict with another writer is left for the next tick, since fresher state is coming. The first
 * and the last flush of a stream have no tick behind them, so they are tried again by the `upsert.*` policy (each time on
 * a fresh read); the last one within a deadline of its own.
 */
export interface StatusSink extends StatusPort {
  row(): SinkRow
  /** When the next attempt for this insight is due (epoch ms); null when none is planned here. */
  nextFlushAt(insight: ResourceKey): number | null
  /** Whether this subscription belongs to a stream that is open here. */
  isLive(subscriptionId: string): boolean
  /** What is kept of streams that are open or just ended, for the debug snapshot. */
  sizes(): { readonly insights: number; readonly streams: number; readonly scheduled: number }
  /** Insights not written because their subject is gone. */
  droppedCount(): number
  /**
   * Flushes until aborted; then closes every subscription that is open here, for their streams end with this process, and
   * resolves when that is stored or 5 s have passed.
   */
  run(signal: AbortSignal): Promise<void>
}

/** One kind of subject. */
export interface StatusSinkDefinition {
  /** As pages and metrics call it. */
  readonly name: string
  /** Of its insights. */
  readonly type: string
  readonly writer: string
  /** Subscriptions kept per insight; older ones are dropped. */
  readonly keep: number
  readonly settings: Readonly<Record<TempoPart, TunableKey>>
}

export interface StatusSinkDeps {
  readonly clock: Clock
  readonly store: Pick<ResourceStore, 'list' | 'writeBatch'>
  readonly settings: Pick<Settings, 'tunable' | 'get' | 'recordEffect'>
  readonly ledger: Pick<ConflictLedger, 'written' | 'lost' | 'gaveUp' | 'settled'>
  readonly board: Pick<InsightBoard, 'setPending'>
  /** The id of this Tidewatch instance. */
  readonly instance: string
  readonly random: () => number
  readonly log: Pick<Logger, 'debug' | 'warn' | 'error' | 'info'>
  readonly observer: SinkObserver
}

/** Where counters and histograms are fed. */
export interface SinkObserver {
  flushed(result: FlushResult): void
  /** From the oldest change to its being stored. */
  lag(seconds: number): void
  /** A first or last flush has ended after this many attempts. */
  attempts(count: number, outcome: 'created' | 'updated' | 'unchanged' | 'conflict' | 'error'): void
}

/** How long the last flush of a stream may take. */
export const LAST_FLUSH_DEADLINE_MS = 5_000

interface Stream {
  newest: Subscription
  isNew: boolean
  closing: Closing | undefined
}
interface Closing {
  readonly done: Promise<void>
  readonly resolve: () => void
  readonly deadline: Timer
}
interface Insight {
  readonly key: ResourceKey
  readonly id: KeyString
  readonly streams: Set<Stream>
  /** Attempts of the first or last flush under way. */
  attempts: number
}
/** One insight's part of a group: what was known when the group began. */
interface Plan {
  readonly item: FlushItem<KeyString>
  readonly insight: Insight | undefined
  readonly taken: readonly (ObservedStream & { readonly stream: Stream; readonly isLast: boolean })[]
}

export function createStatusSink(definition: StatusSinkDefinition, deps: StatusSinkDeps): StatusSink {
  const { name, type, writer, keep, settings: keys } = definition
  const { clock, store, settings, ledger, board, instance, log, observer } = deps
  const insights = new Map<KeyString, Insight>()
  const liveIds = new Map<string, Stream>()
  const statistics = createSinkStatistics(() => clock.monotonic())
  const intervalMs = settings.tunable(keys.interval)
  const backoffMs = settings.tunable(keys.backoff)
  const idleTimeoutMs = settings.tunable(keys.idleTimeout)
  const retry = {
    baseMs: settings.tunable('upsert.baseBackoffMs'),
    maxMs: settings.tunable('upsert.maxBackoffMs'),
    maxTimes: settings.tunable('upsert.maxTimes'),
    jitterPercent: settings.tunable('upsert.jitterPercent'),
  }
  let adopted = { version: settings.get(keys.interval).version, at: clock.now() }
  let lastError: SinkRow['lastError'] = null
  let isStopping = false

  const scheduler = createFlushScheduler<KeyString>({
    clock,
    intervalMs,
    backoffMs,
    idleTimeoutMs,
    flushGroup,
    onInEffect(part, effect) {
      const { version } = settings.get(keys[part])
      if (part === 'interval') adopted = { version, at: clock.now() }
      settings.recordEffect(keys[part], version, effect)
    },
    onPending(id, since) {
      const insight = insights.get(id)
      if (insight !== undefined) board.setPending(insight.key, since === undefined ? null : toEpoch(since))
    },
    onFault(error) {
      log.error({ err: error, sink: name }, 'a group of flushes failed; what it carried is kept for the next tick')
      noteError(toCoreError(error))
    },
  })

  return {
    open(subject, initial) {
      if (isStopping) return { update() {}, close: () => Promise.resolve() }
      const insight = insightOf(insightKeyOf(subject))
      const stream: Stream = { newest: initial, isNew: true, closing: undefined }
      insight.streams.add(stream)
      insight.attempts = 0
      liveIds.set(initial.id, stream)
      scheduler.urge(insight.id)
      return {
        update(next) {
          if (stream.closing !== undefined || next === stream.newest) return
          stream.newest = next
          scheduler.changed(insight.id)
        },
        close: (last) => close(insight, stream, last),
      }
    },
    row() {
      const { version, modifiedAt } = settings.get(keys.interval)
      // A setting saved with the value it had is in force at once; no tunable tells of it.
      if (version !== adopted.version && !scheduler.isRetuning('interval')) adopted = { version, at: Math.max(adopted.at, modifiedAt ?? 0) }
      const tempo = toTempo({ intervalMs: intervalMs.get(), backoff: backoffMs.get(), idleTimeoutMs: idleTimeoutMs.get() })
      const due = scheduler.earliestDueAt()
      return {
        name,
        intervalMs: tempo.intervalMs,
        backoffMs: tempo.backoffMs,
        sessions: liveIds.size,
        nextFlushAt: due === undefined ? null : toEpoch(due),
        adopted,
        lastError,
        ...statistics.snapshot(),
      }
    },
    nextFlushAt(key) {
      const due = scheduler.nextDueAt(toKeyString(key))
      return due === undefined ? null : toEpoch(due)
    },
    isLive: (subscriptionId) => liveIds.has(subscriptionId),
    sizes: () => ({ insights: insights.size, streams: liveIds.size, scheduled: scheduler.size() }),
    droppedCount: () => statistics.totals().dropped,
    async run(signal) {
      const scheduling = new AbortController()
      const scheduled = scheduler.run(scheduling.signal)
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      isStopping = true
      const closings = [...insights.values()].flatMap((insight) =>
        [...insight.streams].map((stream) => close(insight, stream, stream.newest)),
      )
      await Promise.all(closings)
      scheduling.abort()
      await scheduled
    },
  }

  function insightOf(key: ResourceKey): Insight {
    const id = toKeyString(key)
    const known = insights.get(id)
    if (known !== undefined) return known
    const insight: Insight = { key, id, streams: new Set(), attempts: 0 }
    insights.set(id, insight)
    return insight
  }

  function close(insight: Insight, stream: Stream, last: Subscription): Promise<void> {
    if (stream.closing !== undefined) return stream.closing.done
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const deadline = clock.at(clock.monotonic() + LAST_FLUSH_DEADLINE_MS, () => {
      noteError(new CoreError('timeout', `last flush of ${formatKey(insight.key)} not stored within ${LAST_FLUSH_DEADLINE_MS} ms`))
      giveUp(insight, stream, 'error')
    })
    stream.closing = { done, resolve, deadline }
    stream.newest = { ...last, disconnectedAt: last.disconnectedAt ?? clock.now() }
    insight.attempts = 0
    if (insight.streams.has(stream)) scheduler.urge(insight.id)
    else end(insight, stream)
    return done
  }

  /** The stream's last word is stored, or will not be. */
  function end(insight: Insight, stream: Stream): void {
    stream.closing?.deadline.cancel()
    stream.closing?.resolve()
    insight.streams.delete(stream)
    if (liveIds.get(stream.newest.id) === stream) liveIds.delete(stream.newest.id)
    if (insight.streams.size > 0 || insights.get(insight.id) !== insight) return
    scheduler.remove(insight.id)
    insights.delete(insight.id)
    board.setPending(insight.key, null)
  }

  /** Its subscription stays open in the store until the finaliser closes it. */
  function giveUp(insight: Insight, stream: Stream, outcome: 'conflict' | 'error'): void {
    ledger.gaveUp({ key: insight.key, writer, at: clock.now() })
    observer.attempts(insight.attempts, outcome)
    log.warn({ insight: formatKey(insight.key), subscription: stream.newest.id, attempts: insight.attempts }, 'last flush given up')
    end(insight, stream)
  }

  async function flushGroup(items: readonly FlushItem<KeyString>[], signal: AbortSignal): Promise<readonly FlushOutcome[]> {
    const plans = items.map(toPlan)
    try {
      const present = await readPresent(plans, signal)
      const drafts = plans.map((plan) => toWrite(plan, present.get(plan.item.key), keep))
      const writes = drafts.filter((write) => write !== undefined)
      const results = writes.length === 0 ? [] : await orAborted(store.writeBatch(writes, { writer, signal }), signal)
      let place = 0
      return plans.map((plan, index) => {
        const write = drafts[index]
        if (write === undefined) return onUnchanged(plan)
        const result = results[place++]
        if (result === undefined) return onRefused(plan, new CoreError('internal', 'the store gave no answer for a write of a batch'))
        if (!result.ok) return onRefused(plan, result.error)
        return onWritten(plan, result.resource, write.kind === 'create' ? 'created' : 'updated')
      })
    } catch (error) {
      const cause = toCoreError(error)
      if (lastError === null) log.warn({ err: cause, sink: name, insights: plans.length }, 'flush failed; state is kept for the next tick')
      return plans.map((plan) => onRefused(plan, cause))
    }
  }

  function toPlan(item: FlushItem<KeyString>): Plan {
    const insight = insights.get(item.key)
    const taken = [...(insight?.streams ?? [])].map((stream) => ({
      stream,
      subscription: stream.newest,
      isNew: stream.isNew,
      isLast: stream.closing !== undefined,
    }))
    return { item, insight, taken }
  }

  /** The versions read here are what the writes are held against, so that what another writer does meanwhile is seen. */
  async function readPresent(plans: readonly Plan[], signal: AbortSignal): Promise<ReadonlyMap<KeyString, Resource<DataplaneInsight>>> {
    const keys = plans.flatMap(({ insight }) => (insight === undefined ? [] : [insight.key]))
    if (keys.length === 0) return new Map()
    const { items } = await orAborted(store.list<DataplaneInsight>({ type, keys, limit: keys.length }, { signal }), signal)
    return new Map(items.map((resource) => [toKeyString(resource.key), resource]))
  }

  function onWritten(plan: Plan, resource: Resource | undefined, outcome: 'created' | 'updated'): FlushOutcome {
    const { insight, item } = plan
    if (insight === undefined) return 'settled'
    count('written')
    if (item.since !== undefined) {
      const lagMs = clock.monotonic() - item.since
      statistics.lag(lagMs)
      observer.lag(lagMs / 1000)
    }
    const at = resource?.modifiedAt ?? clock.now()
    ledger.written({ key: insight.key, writer, instance, version: resource?.version ?? '', at })
    return onStored(plan, outcome)
  }

  function onUnchanged(plan: Plan): FlushOutcome {
    if (plan.insight === undefined) return 'settled'
    count('unchanged')
    ledger.settled({ key: plan.insight.key, writer, at: clock.now() })
    return onStored(plan, 'unchanged')
  }

  function onStored({ insight, taken }: Plan, outcome: 'created' | 'updated' | 'unchanged'): FlushOutcome {
    lastError = null
    if (insight === undefined) return 'settled'
    if (taken.some(isUrgent)) observer.attempts(insight.attempts + 1, outcome)
    insight.attempts = 0
    finish(insight, taken)
    return 'settled'
  }

  function finish(insight: Insight, taken: Plan['taken']): void {
    for (const { stream, isLast } of taken) {
      stream.isNew = false
      if (isLast) end(insight, stream)
    }
  }

  function onRefused(plan: Plan, error: CoreError): FlushOutcome {
    const { insight, taken } = plan
    if (insight === undefined) return 'settled'
    const record = { key: insight.key, writer, at: clock.now() }
    const refusal = refusalOf(error.code)
    switch (refusal) {
      case 'dropped':
        // The Dataplane went, and its insight with it.
        count('dropped')
        ledger.settled(record)
        insight.attempts = 0
        finish(insight, taken)
        return 'settled'
      case 'conflict':
        count('conflict')
        ledger.lost({ ...record, instance, lostTo: error.details['lostTo'] as LostTo | undefined })
        log.debug({ insight: formatKey(insight.key), lostTo: error.details['lostTo'] }, 'flush met a newer version')
        return againOrKept(plan, 'conflict')
      case 'error':
        count('error')
        noteError(error)
        return againOrKept(plan, 'error')
    }
    return assertNever(refusal)
  }

  /** First and last flushes have their own policy; all else waits for its tick. */
  function againOrKept({ insight, taken }: Plan, outcome: 'conflict' | 'error'): FlushOutcome {
    if (insight === undefined || !taken.some(isUrgent)) return 'kept'
    insight.attempts++
    const policy = { baseMs: retry.baseMs.get(), maxMs: retry.maxMs.get(), factor: 2, jitterPercent: retry.jitterPercent.get() }
    if (policy.baseMs > 0 && insight.attempts <= retry.maxTimes.get())
      return { againInMs: backoffDelayMs(policy, insight.attempts, deps.random) }
    for (const { stream, isLast } of taken) if (isLast) giveUp(insight, stream, outcome)
    insight.attempts = 0
    return 'kept'
  }

  function count(result: FlushResult): void {
    statistics.count(result)
    observer.flushed(result)
  }

  function noteError(error: CoreError): void {
    lastError = { message: error.message, at: clock.now() }
  }

  function toEpoch(moment: number): number {
    return Math.round(clock.now() + (moment - clock.monotonic()))
  }
}

function toWrite({ insight, taken, item }: Plan, present: Resource<DataplaneInsight> | undefined, keep: number): Write | undefined {
  if (insight === undefined || taken.length === 0) return undefined
  const options = { isHeartbeatDue: item.isHeartbeatDue, keep }
  const spec = mergeInsight(present?.spec, taken, options)
  if (present === undefined) return { kind: 'create', draft: { key: insight.key, spec } }
  return spec === present.spec ? undefined : { kind: 'update', resource: { ...present, spec } }
}

function isUrgent({ isNew, isLast }: { readonly isNew: boolean; readonly isLast: boolean }): boolean {
  return isNew || isLast
}

function refusalOf(code: ErrorCode): 'conflict' | 'dropped' | 'error' {
  switch (code) {
    case 'conflict':
    case 'already_exists':
    case 'not_found':
      return 'conflict'
    case 'owner_missing':
      return 'dropped'
    case 'invalid':
    case 'unsupported':
    case 'unauthorized':
    case 'forbidden':
    case 'unavailable':
    case 'timeout':
    case 'exhausted':
    case 'aborted':
    case 'internal':
      return 'error'
  }
  return assertNever(code)
}

/** A store that does not hear the signal must not hold up everything else; what became of the call is read at the next attempt. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(toCoreError(signal.reason))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

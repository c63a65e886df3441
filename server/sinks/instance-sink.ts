import type { Clock } from '../lib/clock.ts'
import { toCoreError } from '../lib/errors.ts'
import type { InstanceInsight } from '../model/mesh-insight.ts'
import type { ResourceKey } from '../model/resource.ts'
import type { SinkRow } from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { Upsert } from '../store/upsert.ts'
import { createSinkStatistics, type FlushResult } from './sink-statistics.ts'

/** Writes what this instance counts into its InstanceInsight, once per `sink.instance.flushIntervalMs`. */
export interface InstanceSink {
  row(): SinkRow
  /** Until aborted; first removes what instances that are gone left behind. */
  run(signal: AbortSignal): Promise<void>
}

export interface InstanceSinkDeps {
  readonly clock: Clock
  readonly store: Pick<ResourceStore, 'list' | 'delete'>
  readonly upsert: Upsert
  readonly settings: Pick<Settings, 'tunable' | 'get'>
  readonly instance: string
  readonly observe: () => Omit<InstanceInsight, 'generation'>
  readonly onFlushed: (result: FlushResult) => void
  readonly onError: (what: string, error: unknown) => void
}

const KEY = 'sink.instance.flushIntervalMs'
const WRITER = 'instance-sink'

export function createInstanceSink(deps: InstanceSinkDeps): InstanceSink {
  const { clock, store, settings, instance } = deps
  const intervalMs = settings.tunable(KEY)
  const statistics = createSinkStatistics(() => clock.monotonic())
  const key: ResourceKey = { type: 'InstanceInsight', mesh: '', name: instance }
  let generation = 0
  let startedAt = -Infinity
  let lastError: SinkRow['lastError'] = null
  let adopted = { version: settings.get(KEY).version, at: clock.now() }

  return {
    row() {
      const { version, modifiedAt } = settings.get(KEY)
      if (version !== adopted.version) adopted = { version, at: Math.max(adopted.at, modifiedAt ?? 0) }
      const dueIn = startedAt + intervalMs.get() - clock.monotonic()
      return {
        name: 'instance',
        intervalMs: intervalMs.get(),
        backoffMs: 0,
        sessions: 1,
        nextFlushAt: startedAt === -Infinity ? null : Math.round(clock.now() + Math.max(0, dueIn)),
        adopted,
        lastError,
        ...statistics.snapshot(),
      }
    },
    async run(signal) {
      await removeOthers(signal)
      while (!signal.aborted) {
        startedAt = clock.monotonic()
        await flush(signal)
        await untilDue(signal)
      }
    },
  }

  /** The store is one process's alone, so whoever else is in it has ended. */
  async function removeOthers(signal: AbortSignal) {
    const { items } = await store.list({ type: key.type, limit: 1000 }, { signal })
    for (const { key: other } of items) {
      if (other.name !== instance)
        await store.delete(other, { writer: WRITER, signal }).catch((error) => deps.onError('remove an instance that is gone', error))
    }
  }

  async function flush(signal: AbortSignal) {
    try {
      const spec: InstanceInsight = { ...deps.observe(), generation: ++generation }
      await deps.upsert<InstanceInsight>(key, () => spec, { writer: WRITER, signal })
      lastError = null
      count('written')
    } catch (error) {
      if (signal.aborted) return
      const { code, message } = toCoreError(error)
      count(code === 'conflict' ? 'conflict' : 'error')
      if (lastError === null) deps.onError('write what this instance counts', error)
      lastError = { message, at: clock.now() }
    }
  }

  /** A new interval counts from the last start. */
  async function untilDue(signal: AbortSignal) {
    const waiting = Promise.withResolvers<void>()
    const watching = new AbortController()
    const arm = () => clock.at(startedAt + intervalMs.get(), () => waiting.resolve())
    let timer = arm()
    intervalMs.watch(() => {
      timer.cancel()
      timer = arm()
    }, watching.signal)
    const onAbort = () => waiting.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) waiting.resolve()
    await waiting.promise
    signal.removeEventListener('abort', onAbort)
    watching.abort()
    timer.cancel()
  }

  function count(result: FlushResult) {
    statistics.count(result)
    deps.onFlushed(result)
  }
}

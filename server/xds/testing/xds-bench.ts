import { pino } from 'pino'
import { createSystemClock } from '../../lib/clock.ts'
import { newRandomId, systemRandom } from '../../lib/random.ts'
import { createTunable } from '../../lib/tunable.ts'
import { createSessionRegistry } from '../../discovery/session-registry.ts'
import type { StatusPort } from '../../discovery/status-port.ts'
import { loadKinds } from '../../model/load-kinds.ts'
import type { Subscription } from '../../model/insight.ts'
import { createMemoryStore } from '../../store/memory-store.ts'
import { createReadCache, invalidatingStore } from '../../store/read-cache.ts'
import type { ConflictRetry } from '../../store/upsert.ts'
import { createUpsert } from '../../store/upsert.ts'
import { createResourceBuilder } from '../build-resources.ts'
import { createIdentity } from '../identity.ts'
import { createLifecycle } from '../lifecycle.ts'
import { createMeshDirectory } from '../mesh-directory.ts'
import { loadProtos } from '../protos.ts'
import { createXdsServer, type XdsServerOptions } from '../xds-server.ts'

const retry: ConflictRetry = { baseBackoffMs: 50, maxBackoffMs: 500, maxTimes: 10, jitterPercent: 30 }

interface LogLine {
  readonly msg: string
  readonly count?: number
}

/** An xDS server on a free port over a store in memory, with mesh `default`; what it reports is kept. */
export async function startXds(
  options: Partial<XdsServerOptions> & {
    readonly cacheTtlMs?: number
    readonly deregistrationDelayMs?: number
    readonly nackBackoffMs?: number
    readonly refreshIntervalMs?: number
    readonly lastFlushMs?: number
    /** False: the Dataplanes are not read until `startDirectory`. */
    readonly isDirectoryReady?: boolean
  } = {},
) {
  const clock = createSystemClock()
  const kinds = await loadKinds()
  const memory = createMemoryStore({ clock, kinds, instance: 'test' })
  const ttlMs = createTunable(options.cacheTtlMs ?? 1_000)
  const cache = createReadCache({ store: memory, clock, ttlMs })
  const store = invalidatingStore(memory, cache)
  const upsert = createUpsert({ store, clock, random: systemRandom })
  const deregistrationDelayMs = createTunable(options.deregistrationDelayMs ?? 10_000)
  const refreshIntervalMs = createTunable(options.refreshIntervalMs ?? 200)
  const protos = loadProtos()
  const directory = createMeshDirectory({ store, builder: createResourceBuilder(protos) })
  const lifecycle = createLifecycle({
    clock,
    store,
    cache,
    upsert,
    retry: () => retry,
    deregistrationDelayMs,
    instance: 'test',
    onError: () => undefined,
  })
  const certificateTtlMs = createTunable(3_600_000)
  const identity = createIdentity({
    clock,
    random: systemRandom,
    store,
    upsert,
    retry: () => retry,
    certificateTtlMs,
    onError: (what, error) => errors.push(`${what}: ${String(error)}`),
  })
  const errors: string[] = []
  const lines: LogLine[] = []
  const sessions = createSessionRegistry()
  const reported: { readonly subject: string; readonly what: 'open' | 'update' | 'close'; readonly subscription: Subscription }[] = []
  const status: StatusPort = {
    open(subject, initial) {
      const note = (what: 'open' | 'update' | 'close', subscription: Subscription) =>
        void reported.push({ subject: `${subject.mesh}.${subject.name}`, what, subscription })
      note('open', initial)
      return {
        update: (next) => note('update', next),
        close: (last) => clock.sleep(options.lastFlushMs ?? 0).then(() => note('close', last)),
      }
    },
  }
  const counts: Record<string, number> = {}
  const firstConfigs: number[] = []
  const server = createXdsServer(
    {
      clock,
      newId: newRandomId,
      log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) }),
      instance: 'test',
      protos,
      directory,
      lifecycle,
      identity,
      sessions,
      status,
      tunables: { refreshIntervalMs, nackBackoffMs: createTunable(options.nackBackoffMs ?? 5_000), cacheTtlMs: ttlMs },
      observer: {
        response: (type, result) => void (counts[`${type} ${result}`] = (counts[`${type} ${result}`] ?? 0) + 1),
        firstConfig: (_type, seconds) => firstConfigs.push(seconds * 1000),
      },
      storeSignalsWrites: true,
    },
    { host: '127.0.0.1', port: 0, ...options },
  )
  await store.create({ key: { type: 'Mesh', mesh: '', name: 'default' }, spec: {} }, { writer: 'test' })
  await server.listen()
  const ending = new AbortController()
  const following: Promise<void>[] = []
  const startDirectory = () => void following.push(directory.run(ending.signal))
  const serving = new AbortController()
  const served = server.run(serving.signal)
  const running = Promise.all([lifecycle.run(ending.signal), identity.run(ending.signal), cache.run(ending.signal)])
  if (options.isDirectoryReady !== false) {
    startDirectory()
    await directory.ready()
  }
  return {
    server,
    store,
    cache,
    sessions,
    protos,
    reported,
    counts,
    firstConfigs,
    certificateTtlMs,
    refreshIntervalMs,
    startDirectory,
    identity,
    errors,
    /** What was logged. */
    lines,
    async stop() {
      // As the whole process does: what brings work goes first.
      serving.abort()
      await served
      ending.abort()
      await Promise.all([running, ...following])
      await store.close()
    },
  }
}

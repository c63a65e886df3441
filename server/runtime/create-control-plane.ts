import type { Logger } from 'pino'
import manifest from '../../package.json' with { type: 'json' }
import { type Clock, createSystemClock } from '../lib/clock.ts'
import { createMetrics } from '../lib/metrics.ts'
import { type NewId, newRandomId, type Random, systemRandom } from '../lib/random.ts'
import { untilAborted } from '../lib/signals.ts'
import { deriveTunable } from '../lib/tunable.ts'
import { type Part, superviseParts } from '../lib/supervisor.ts'
import { createAttention } from '../link/attention.ts'
import { createSessionRegistry } from '../discovery/session-registry.ts'
import { createLinkRegistry } from '../link/link-registry.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { ConflictCell, InstanceSelf, SettingRow } from '../model/views.ts'
import { createSettings } from '../settings/settings.ts'
import { createDataplaneSink } from '../sinks/dataplane-sink.ts'
import { createInstanceSink } from '../sinks/instance-sink.ts'
import { createMeshResyncer } from '../sinks/mesh-resyncer.ts'
import type { StatusSink, StatusSinkDeps } from '../sinks/status-sink.ts'
import { createZoneSink } from '../sinks/zone-sink.ts'
import { createInsightBoard } from '../sinks/insight-board.ts'
import { createZombieFinaliser } from '../sinks/zombie-finaliser.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import { observedStore } from '../store/observed-store.ts'
import { createReadCache, invalidatingStore } from '../store/read-cache.ts'
import type { ResourceStore, StoreHealth } from '../store/resource-store.ts'
import { openSqliteStore } from '../store/sqlite-store.ts'
import { type ConflictRetry, createUpsert } from '../store/upsert.ts'
import { createConflictLedger } from '../telemetry/conflict-ledger.ts'
import { createEventLoopLag } from '../telemetry/event-loop-lag.ts'
import { createInterruptions } from '../telemetry/interruptions.ts'
import { createSlowReaders } from '../telemetry/slow-readers.ts'
import { createResourceBuilder, type ResourceBuilder } from '../xds/build-resources.ts'
import { createIdentity } from '../xds/identity.ts'
import { createLifecycle } from '../xds/lifecycle.ts'
import { createMeshDirectory } from '../xds/mesh-directory.ts'
import { loadProtos } from '../xds/protos.ts'
import { createXdsServer } from '../xds/xds-server.ts'
import type { Config } from './config.ts'
import type { ControlPlane } from './control-plane.ts'
import { createCoreMetrics, primeCounters } from './core-metrics.ts'
import { createCounters } from './counters.ts'
import { createKds } from './create-kds.ts'
import { createDemo } from './create-demo.ts'
import { createDebugSnapshot } from './debug-snapshot.ts'
import { planDemoClusters } from './demo-clusters.ts'
import { createKumaLinks, type KumaLinks } from './create-kuma-links.ts'
import { createWatchers } from './create-watchers.ts'
import { createGatePolicy, createLinkTuning } from './link-tuning.ts'
import { createResourceService } from './resource-service.ts'
import { createMissingMeshes } from './meshes.ts'
import { createUpsertObserver } from './upsert-observer.ts'

/** What a test may put in the place of the real thing. */
export interface Overrides {
  readonly clock?: Clock
  readonly random?: Random
  readonly newId?: NewId
  /** Changes what data planes are sent: to make a peer refuse it on purpose. */
  readonly adaptBuilder?: (builder: ResourceBuilder) => ResourceBuilder
  /** False: as over a store that does not tell this process of its writes, so that new data planes wait for the cache. Default true. */
  readonly storeSignalsWrites?: boolean
}

export interface RunningControlPlane extends ControlPlane {
  /**
   * While it runs: takes the ports it needs once everything stored is read, so that nobody is answered from half of it. Rejects
   * with `unavailable` naming the port that is taken.
   */
  listen(): Promise<void>
  /** Where the pages are, once main knows. */
  setUrl(url: string): void
  countUnhandledRejection(): void
  /** Closes the store; after run has resolved. */
  close(): Promise<void>
}

/** A process that starts answers within a second on a busy machine. */
const CLUSTERS_READY_WITHIN_MS = 5_000

/** Builds everything in dependency order; starts nothing but the opening of the store and the reading of settings. */
export async function createControlPlane(config: Config, log: Logger, overrides: Overrides = {}): Promise<RunningControlPlane> {
  const { clock = createSystemClock(), random = systemRandom, newId = newRandomId, adaptBuilder = (builder) => builder } = overrides
  const { storeSignalsWrites = true } = overrides
  const instance = newId()
  const startedAt = clock.now()
  const kinds = await loadKinds()
  const metrics = createMetrics()
  const opened = await openStore()
  const onError = (what: string, error: unknown) => log.error({ err: error }, `could not ${what}`)

  const observed = observedStore(opened, { clock, kinds }, ({ operation, type, result, seconds }) => {
    core.storeOperations.add({ operation, type, result })
    core.storeDuration.observe({ operation, type, result }, seconds)
  })
  const settings = createSettings({
    store: observed,
    clock,
    newId,
    onError,
    onApplied: (key) => core.settingsChanges.add({ key, result: 'applied' }),
    links: () => links.states().map(({ id }) => id),
  })
  // Whatever adds links does so before the settings are loaded: first values may be of links.
  const links = createLinkRegistry({
    clock,
    random,
    log,
    tuningOf: (id) => createLinkTuning(settings, id),
    gatePolicy: createGatePolicy(settings),
    observer: {
      request: (link, verb, code) => core.linkRequests.add({ link, verb, code }),
      reconnect: (link, cause) => core.linkReconnects.add({ link, cause }),
      relist: (link, reason) => core.linkRelists.add({ link, reason }),
      event: (link, event) => core.linkEvents.add({ link, event }),
      eventLag: (link, seconds) => core.linkEventLag.observe({ link }, seconds),
    },
  })
  const attention = createAttention(clock)
  const cache = createReadCache({
    store: observed,
    clock,
    ttlMs: settings.tunable('cache.ttlMs'),
    onRequest: (labels) => core.cacheRequests.add(labels),
  })
  const store = invalidatingStore(observed, cache)
  const conflicts = createConflictLedger({
    clock,
    onSettledMetric: ({ writer, lostTo, type, severity }) => core.conflicts.add({ writer, lost_to: lostTo, type, severity }),
  })
  const upsert = createUpsert({
    store,
    clock,
    random,
    observer: createUpsertObserver({
      clock,
      ledger: conflicts,
      instance,
      onAttempts: (labels, attempts) => core.upsertAttempts.observe(labels, attempts),
    }),
  })
  const retry = (): ConflictRetry => ({
    baseBackoffMs: settings.tunable('upsert.baseBackoffMs').get(),
    maxBackoffMs: settings.tunable('upsert.maxBackoffMs').get(),
    maxTimes: settings.tunable('upsert.maxTimes').get(),
    jitterPercent: settings.tunable('upsert.jitterPercent').get(),
  })
  const idleTimeoutMs = settings.tunable('insight.idleTimeoutMs')
  const heartbeatMs = deriveTunable(idleTimeoutMs, (ms) => ms / 2)
  const instanceIntervalMs = settings.tunable('sink.instance.flushIntervalMs')
  const board = createInsightBoard({
    store,
    clock,
    ledger: conflicts,
    tempos: new Map([
      ['DataplaneInsight', { intervalMs: settings.tunable('sink.dataplane.flushIntervalMs'), heartbeatMs }],
      ['ZoneInsight', { intervalMs: settings.tunable('sink.zone.flushIntervalMs'), heartbeatMs }],
      ['MeshInsight', { intervalMs: settings.tunable('sink.mesh.minResyncMs'), heartbeatMs: settings.tunable('sink.mesh.fullResyncMs') }],
      ['InstanceInsight', { intervalMs: instanceIntervalMs, heartbeatMs: instanceIntervalMs }],
    ]),
  })
  const sinkDeps = (name: 'dataplane' | 'zone', type: string): StatusSinkDeps => ({
    clock,
    store,
    settings,
    ledger: conflicts,
    board,
    instance,
    random,
    log,
    observer: {
      flushed: (result) => core.flushes.add({ sink: name, result }),
      lag: (seconds) => core.flushLag.observe({ sink: name }, seconds),
      attempts: (count, outcome) => core.upsertAttempts.observe({ writer: `${name}-sink`, type, outcome }, count),
    },
  })
  const sink = createDataplaneSink(sinkDeps('dataplane', 'DataplaneInsight'))
  const zoneSink = createZoneSink(sinkDeps('zone', 'ZoneInsight'))
  const finaliserOf = (type: string, isLive: StatusSink['isLive']) =>
    createZombieFinaliser({ type, clock, store, upsert, retry, idleTimeoutMs, isLive, onError })
  const zombies = finaliserOf('DataplaneInsight', sink.isLive)
  const zoneZombies = finaliserOf('ZoneInsight', zoneSink.isLive)
  const meshResyncer = createMeshResyncer({
    clock,
    store,
    upsert,
    settings,
    kinds,
    board,
    onFlushed: (result) => core.flushes.add({ sink: 'mesh', result }),
    onLag: (seconds) => core.flushLag.observe({ sink: 'mesh' }, seconds),
    onError,
  })
  const sessions = createSessionRegistry()
  const protos = loadProtos()
  const directory = createMeshDirectory({
    store,
    builder: adaptBuilder(createResourceBuilder(protos)),
    onSkipped: ({ mesh, name }, reason) =>
      log.warn(`the stored Dataplane ${mesh}.${name} is left out of what data planes are sent: ${reason}`),
  })
  const lifecycle = createLifecycle({
    clock,
    store,
    cache,
    upsert,
    retry,
    deregistrationDelayMs: settings.tunable('xds.deregistrationDelayMs'),
    instance,
    onError,
  })
  const identity = createIdentity({
    clock,
    random,
    store,
    upsert,
    retry,
    certificateTtlMs: settings.tunable('identity.certificateTtlMs'),
    onError,
  })
  const xds = createXdsServer(
    {
      clock,
      newId,
      log,
      instance,
      protos,
      directory,
      lifecycle,
      identity,
      sessions,
      status: sink,
      tunables: {
        refreshIntervalMs: settings.tunable('xds.refreshIntervalMs'),
        nackBackoffMs: settings.tunable('xds.nackBackoffMs'),
        cacheTtlMs: settings.tunable('cache.ttlMs'),
      },
      observer: {
        response: (type, result) => core.responses.add({ protocol: 'xds', type, result }),
        firstConfig: (type, seconds) => core.firstConfig.observe({ type }, seconds),
      },
      storeSignalsWrites,
    },
    { host: config.host, port: config.xdsPort },
  )
  const eventLoopLag = createEventLoopLag(clock, (seconds) => core.eventLoopLag.observe({}, seconds))
  const interruptions = createInterruptions({ clock, cpuMs: usedCpuMs })
  const readers = createSlowReaders(clock)
  const instanceSink = createInstanceSink({
    clock,
    store,
    upsert,
    settings,
    instance,
    observe: () => ({
      mode: config.mode,
      version: manifest.version,
      startedAt,
      sessions: { xds: sessions.size('xds'), kds: sessions.size('kds') },
      links: links.counts().byState,
      conflicts: sumOf(conflicts.matrix()),
      settingsVersion: newestOf(settings.list()),
      eventLoopLagMs: eventLoopLag.read(),
      rssBytes: process.memoryUsage.rss(),
    }),
    onFlushed: (result) => core.flushes.add({ sink: 'instance', result }),
    onError,
  })
  const sinks = () => [sink.row(), zoneSink.row(), meshResyncer.row(), instanceSink.row()]
  const resources = createResourceService({ store, kinds, role: config.mode === 'zone' ? 'zone' : 'global' })
  const kds = createKds(config, {
    clock,
    random,
    newId,
    log,
    instance,
    version: manifest.version,
    kinds,
    store,
    upsert,
    retry,
    settings,
    sessions,
    links,
    status: zoneSink,
    observer: {
      response: (type, result) => core.responses.add({ protocol: 'kds', type, result }),
      delivered: (type, seconds) => core.kdsDelivery.observe({ type }, seconds),
    },
    onError,
  })
  const clusters = config.demo ? await planDemoClusters(config, newId()) : undefined
  const demo = config.demo
    ? createDemo({ clock, random, log, config, settings, resources, clusters, xds: xds.address, kds: () => kds.address() ?? '' })
    : undefined
  const counters = createCounters({ clock, board, conflicts, sessions, links, eventLoopLag, interruptions, readers, store: opened, sinks })
  const core = createCoreMetrics(metrics, {
    summary: board.summary,
    waits: board.waits,
    sinks,
    sessions: () => ({ xds: sessions.size('xds'), kds: sessions.size('kds') }),
    links: links.states,
  })

  let watchers: Part | undefined
  let kumaLinks: KumaLinks
  try {
    watchers = await createWatchers({ clock, links, settings, insights: board }, clusters ?? config)
    kumaLinks = createKumaLinks({ clock, links, insights: board, attention }, config)
    await settings.load(config.settings)
  } catch (error) {
    await opened.close()
    throw error
  }
  primeCounters(core, settings)

  let url = ''
  let phase: 'starting' | 'listening' | 'stopping' = 'starting'
  const listening = Promise.withResolvers<void>()

  return {
    clock,
    kinds,
    store,
    settings,
    board,
    sessions,
    links,
    attention,
    remoteZones: () => kumaLinks.zones(),
    conflicts,
    demo: demo?.controls,
    resources,
    sinks,
    nextFlushAt: (key) => (key.type === 'ZoneInsight' ? zoneSink : sink).nextFlushAt(key),
    counters,
    readers,
    debugSnapshot: createDebugSnapshot({
      board,
      cache,
      conflicts,
      directory,
      identity,
      kds,
      lifecycle,
      links,
      meshResyncer,
      sessions,
      sinks: { dataplane: sink, zone: zoneSink },
      xds,
      zombies: { dataplane: zombies, zone: zoneZombies },
    }),
    self: (): InstanceSelf => ({
      id: instance,
      pid: process.pid,
      startedAt,
      url,
      xds: xds.address(),
      kds: kds.address(),
      version: manifest.version,
      store: config.store,
      mode: config.mode,
      demo: config.demo,
      now: clock.now(),
    }),
    metricsText: metrics.text,
    notReadyBecause() {
      const problem = opened.problem()
      return [
        ...(phase === 'starting' ? ['xDS does not listen yet'] : []),
        ...(phase === 'stopping' ? ['it is stopping'] : []),
        ...(problem === null ? [] : [`the store does not answer: ${problem.message}`]),
      ]
    },
    async listen() {
      await createMissingMeshes(store, config.meshes)
      await Promise.all([directory.ready(), board.ready()])
      await Promise.all([xds.listen(), kds.listen()])
      phase = 'listening'
      listening.resolve()
    },
    setUrl(known) {
      url = known
    },
    countUnhandledRejection: () => core.unhandledRejections.add({}),
    async run(signal) {
      if (signal.aborted) phase = 'stopping'
      else signal.addEventListener('abort', () => (phase = 'stopping'), { once: true })
      // Stopped in reverse: first what brings work, last what other parts still write through.
      const parts: Part[] = [
        { name: 'settings', run: settings.run },
        { name: 'cache', run: cache.run },
        { name: 'board', run: board.run },
        { name: 'event loop lag', run: eventLoopLag.run },
        { name: 'interruptions', run: interruptions.run },
        { name: 'directory', run: directory.run },
        { name: 'zombie finaliser', run: zombies.run },
        { name: 'zombie finaliser of zones', run: zoneZombies.run },
        { name: 'mesh resyncer', run: meshResyncer.run },
        { name: 'instance sink', run: instanceSink.run },
        { name: 'dataplane sink', run: sink.run },
        { name: 'zone sink', run: zoneSink.run },
        { name: 'lifecycle', run: lifecycle.run },
        { name: 'identity', run: identity.run },
        ...kds.parts,
        { name: 'xDS', run: xds.run },
        ...(watchers === undefined ? [] : [watchers]),
        ...(demo?.clusters === undefined ? [] : [demo.clusters]),
        kumaLinks.part,
        { name: 'links', run: onceReady(links.run) },
        ...(demo?.parts.map(({ name, run }) => ({ name, run: onceListening(run) })) ?? []),
      ]
      await superviseParts(parts, signal, {
        clock,
        random,
        onFailure: ({ part, error, nextInMs }) =>
          log.error({ err: error, nextInMs: Math.round(nextInMs) }, `${part} failed; it is started again`),
        onStuck: (part, graceMs) =>
          log.error(`${part} has not stopped within ${graceMs} ms; the others are stopped without waiting for it`),
      })
    },
    close: () => store.close(),
  }

  async function openStore(): Promise<ResourceStore & StoreHealth> {
    if (config.store === 'sqlite') return openSqliteStore(config.dataDir, { clock, kinds, instance })
    return createMemoryStore({ clock, kinds, instance })
  }

  /** For what connects to us: until then there is no address. */
  /** A simulated cluster that does not come is met as any that is down. */
  function onceReady(run: Part['run']): Part['run'] {
    const ready = demo?.clusters?.ready
    if (ready === undefined) return run
    return async (signal) => {
      const tooLong = new AbortController()
      const timer = clock.at(clock.monotonic() + CLUSTERS_READY_WITHIN_MS, () => tooLong.abort())
      await untilAborted(ready, AbortSignal.any([signal, tooLong.signal])).catch(() => undefined)
      timer.cancel()
      await run(signal)
    }
  }

  function onceListening(run: Part['run']): Part['run'] {
    return async (signal) => {
      await untilAborted(listening.promise, signal)
      await run(signal)
    }
  }
}

/** All threads of this process, in ms. */
function usedCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function sumOf(cells: readonly ConflictCell[]): { readonly benign: number; readonly harmful: number } {
  const sum = { benign: 0, harmful: 0 }
  for (const { benign, harmful } of cells) {
    sum.benign += benign
    sum.harmful += harmful
  }
  return sum
}

/** "0" while nobody changed any. */
function newestOf(settings: readonly SettingRow[]): string {
  const changed = settings.filter(({ modifiedAt }) => modifiedAt !== null)
  return changed.sort((a, b) => (b.modifiedAt ?? 0) - (a.modifiedAt ?? 0))[0]?.version ?? '0'
}

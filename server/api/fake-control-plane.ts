import type { Clock } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import { createTopic } from '../lib/topic.ts'
import { createSlowReaders } from '../telemetry/slow-readers.ts'
import { createAttention } from '../link/attention.ts'
import { createLinkRegistry } from '../link/link-registry.ts'
import { createPlainGatePolicy, createPlainTuning, silentLog, silentObserver } from '../link/testing/scripted-connector.ts'
import { freshnessAt } from '../model/freshness.ts'
import { type Resource, type ResourceKey, toKeyString, type Version } from '../model/resource.ts'
import type { ChangeRow, Counters, DemoFault, InsightRow, SessionRow, SettingRow, WriteRecord } from '../model/views.ts'
import type { ControlPlane } from '../runtime/control-plane.ts'

/** For tests: a ControlPlane of plain maps, as much of it as the API calls. */
export interface FakeControlPlane {
  readonly controlPlane: ControlPlane
  readonly board: {
    put(row: InsightRow): void
    remove(key: ResourceKey): void
    rows(): ReadonlyMap<string, InsightRow>
    /** Listeners on the board: 0 when nobody follows live. */
    listeners(): number
  }
  readonly stored: Map<string, Resource>
  readonly sessions: Map<string, SessionRow>
  readonly resyncs: string[]
  writes: readonly WriteRecord[]
  nextFlushAt: number | null
  storeProblem: Counters['storeProblem']
  /** Calls of counters(). */
  counted: number
}

export function insightKey(name: string): ResourceKey {
  return { type: 'DataplaneInsight', mesh: 'default', name }
}

export function insightRow(name: string, changes: Partial<InsightRow> = {}): InsightRow {
  return {
    key: insightKey(name),
    subject: { type: 'Dataplane', mesh: 'default', name },
    source: null,
    online: true,
    freshness: 'fresh',
    pendingMs: 0,
    heartbeatAgeMs: 0,
    pendingSince: null,
    heartbeatAt: Date.UTC(2026, 0, 1),
    cadenceMs: 10_000,
    heartbeatMs: 150_000,
    version: '1',
    writer: 'dataplane-sink',
    modifiedAt: Date.UTC(2026, 0, 1),
    offlineSince: null,
    conflicts: { benign: 0, harmful: 0 },
    nacked: [],
    complaints: [],
    contenders: [],
    ...changes,
  }
}

const INTERVAL = 'sink.dataplane.flushIntervalMs'

export function createFakeControlPlane(clock: Clock, { isDemo = false } = {}): FakeControlPlane {
  const rows = new Map<string, InsightRow>()
  const changed = createTopic<ResourceKey>()
  const history: ChangeRow[] = []
  let setting: SettingRow = {
    key: INTERVAL,
    value: 10_000,
    default: 10_000,
    unit: 'ms',
    range: { min: 100, max: 600_000 },
    version: '0',
    description: '',
    modifiedAt: null,
    modifiedBy: null,
  }
  let faults: readonly DemoFault[] = [{ name: 'nack-wave', label: 'NACK wave', description: '', active: false }]
  let revision = 0
  const unused = () => {
    throw new CoreError('internal', 'the API does not call this')
  }
  const summary = () => {
    const counts = { fresh: 0, late: 0, stale: 0, offline: 0, unknown: 0 }
    for (const row of rows.values()) counts[freshnessAt(row, clock.now())]++
    return { DataplaneInsight: counts }
  }

  const links = createLinkRegistry({
    clock,
    random: () => 0.5,
    log: silentLog,
    observer: silentObserver,
    tuningOf: () => createPlainTuning(),
    gatePolicy: createPlainGatePolicy(),
  })

  const controlPlane: ControlPlane = {
    clock,
    kinds: new Map(),
    store: {
      get: async <S>(key: ResourceKey) => {
        const resource = fake.stored.get(toKeyString(key))
        if (resource === undefined) throw new CoreError('not_found', 'absent')
        return resource as Resource<S>
      },
      list: unused,
      create: unused,
      update: unused,
      delete: unused,
      writeBatch: unused,
      changes: unused,
      close: unused,
    },
    settings: {
      tunable: unused,
      linkTunable: unused,
      isOverridden: unused,
      list: () => [setting],
      get: () => setting,
      async apply({ key, value, expectedVersion, by, reason }) {
        if (key !== INTERVAL) throw new CoreError('not_found', `no tunable ${key}`)
        if (expectedVersion !== setting.version)
          throw new CoreError('conflict', `changed by ${setting.modifiedBy}`, {
            details: { changedBy: setting.modifiedBy, changedAt: setting.modifiedAt, value: setting.value, version: setting.version },
          })
        if (typeof value !== 'number' || value < 100)
          throw new CoreError('invalid', 'from 100 to 600000', { details: { range: setting.range } })
        const change: ChangeRow = {
          changeId: `c${history.length + 1}`,
          key,
          at: clock.now(),
          by,
          from: setting.value,
          to: value,
          reason: reason ?? null,
          version: `v${history.length + 1}`,
          effect: null,
        }
        history.unshift(change)
        setting = { ...setting, value, version: change.version, modifiedAt: change.at, modifiedBy: by }
        return { changeId: change.changeId, setting }
      },
      history: ({ key, limit = 100 } = {}) => history.filter((change) => key === undefined || change.key === key).slice(0, limit),
      recordEffect: unused,
      onChange: unused,
      load: unused,
      run: unused,
    },
    board: {
      order: ({ q, freshness, sort }) => {
        const keys = [...rows.values()]
          .filter((row) => q === undefined || `${row.key.mesh}/${row.key.name}`.includes(q))
          .filter((row) => freshness?.includes(freshnessAt(row, clock.now())) ?? true)
          .map(({ key }) => key)
          .sort((a, b) => (toKeyString(a) < toKeyString(b) ? -1 : 1))
        return { keys: sort === 'name' ? keys : keys.toReversed(), asOf: revision, membersAsOf: rows.size }
      },
      rows: (keys) => keys.flatMap((key) => rows.get(toKeyString(key)) ?? []),
      summary,
      strips: () => [],
      set: unused,
      remove: unused,
      observed: () => undefined,
      rejecting: () => 0,
      total: () => rows.size,
      revision: () => revision,
      membersRevision: () => rows.size,
      onChange: (listener, signal) => changed.subscribe(listener, signal),
      run: unused,
      ready: async () => {},
      waits: () => new Map(),
      setPending: unused,
    },
    resources: { list: unused, get: unused, apply: unused, delete: unused },
    sessions: {
      add: unused,
      remove: unused,
      touched: unused,
      list: () => [...fake.sessions.values()],
      get: (id) => fake.sessions.get(id),
      resync(id, type) {
        if (!fake.sessions.has(id)) throw new CoreError('not_found', `no session ${id}`)
        fake.resyncs.push(type === undefined ? id : `${id} ${type}`)
      },
      size: () => fake.sessions.size,
      onChange: unused,
    },
    conflicts: {
      written: unused,
      lost: unused,
      gaveUp: unused,
      settled: unused,
      forget: unused,
      matrix: (sinceMs) => [
        { writer: 'dataplane-sink', lostTo: 'identity', type: 'DataplaneInsight', benign: sinceMs ?? 7, harmful: 0, attempts: 14 },
      ],
      recent: () => [],
      of: () => ({ benign: 0, harmful: 0, writes: fake.writes }),
      countsOf: () => ({ benign: 0, harmful: 0 }),
      sizes: unused,
      onSettled: unused,
    },
    links,
    attention: createAttention(clock),
    remoteZones: () => [],
    readers: createSlowReaders(clock),
    debugSnapshot: () => ({ 'sessions.all': fake.sessions.size }),
    sinks: () => [],
    nextFlushAt: () => fake.nextFlushAt,
    counters() {
      fake.counted++
      return {
        summary: summary(),
        strips: [],
        sinks: [],
        conflicts: { cells: [], recent: [] },
        sessions: { xds: fake.sessions.size, kds: 0 },
        zones: { online: 0, syncing: 0, rejecting: 0 },
        links: links.counts(),
        rejecting: 0,
        eventLoopLagMs: { p50: 0, p99: 0 },
        storeProblem: fake.storeProblem,
        storeSlow: null,
        readers: controlPlane.readers.read(),
        interruption: null,
        insightsTotal: rows.size,
        insightsRevision: revision,
        insightsMembersRevision: rows.size,
      }
    },
    self: () => ({
      id: 'i-1',
      pid: 1,
      startedAt: 0,
      url: 'http://127.0.0.1:7680',
      xds: '127.0.0.1:7678',
      kds: null,
      version: '0.1.0',
      store: 'memory',
      mode: 'standalone',
      demo: isDemo,
      now: clock.now(),
    }),
    metricsText: async () => '',
    notReadyBecause: () => [],
    demo: isDemo
      ? {
          list: () => faults,
          async set(name, active) {
            if (!faults.some((fault) => fault.name === name)) throw new CoreError('not_found', `no switch ${name}; there are: nack-wave`)
            faults = faults.map((fault) => (fault.name === name ? { ...fault, active } : fault))
          },
        }
      : undefined,
    run: unused,
  }
  const fake: FakeControlPlane = {
    controlPlane,
    board: {
      put(row) {
        revision++
        rows.set(toKeyString(row.key), row)
        changed.publish(row.key)
      },
      remove(key) {
        revision++
        rows.delete(toKeyString(key))
        changed.publish(key)
      },
      rows: () => rows,
      listeners: () => changed.size(),
    },
    stored: new Map(),
    sessions: new Map(),
    resyncs: [],
    writes: [],
    nextFlushAt: null,
    storeProblem: null,
    counted: 0,
  }
  return fake
}

/** A resource as the store would hand it out. */
export function storedResource<S>(key: ResourceKey, spec: S): Resource<S> {
  return {
    key,
    spec,
    version: '1' as Version,
    createdAt: 0,
    modifiedAt: 0,
    labels: {},
    writer: { name: 'dataplane-sink', instance: 'i-1' },
  }
}

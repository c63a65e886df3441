import pino from 'pino'
import { createSystemClock } from '../../lib/clock.ts'
import { newRandomId, systemRandom } from '../../lib/random.ts'
import { createTunable } from '../../lib/tunable.ts'
import { createSessionRegistry } from '../../discovery/session-registry.ts'
import type { LinkAttempt } from '../../link/connector.ts'
import type { Subscription } from '../../model/insight.ts'
import { loadKinds } from '../../model/load-kinds.ts'
import type { Resource, ResourceDraft, ResourceKey } from '../../model/resource.ts'
import { createMemoryStore } from '../../store/memory-store.ts'
import type { ResourceStore } from '../../store/resource-store.ts'
import type { ApplyDeps } from '../apply-resources.ts'
import { checkSynced } from '../check-synced.ts'
import { createKdsServer } from '../kds-server.ts'
import { createKumaResourceCodec } from '../kuma-resource.ts'
import { loadKdsProtos } from '../protos.ts'
import { createSpecCodec } from '../spec-codec.ts'
import { createSyncDirectory } from '../sync-directory.ts'
import { createZoneConnector } from '../zone-connector.ts'
import { createZoneSessions, DOWN_TYPES, UP_TYPES } from '../zone-sessions.ts'

/** A global and zones in one process, over real sockets: for tests of what they make of each other. */
export const protos = loadKdsProtos()
const specs = createSpecCodec(protos)
const codec = createKumaResourceCodec(protos, specs)
const kinds = await loadKinds()
const clock = createSystemClock()

export interface Tempo {
  readonly flushIntervalMs?: number
  readonly fullResyncMs?: number
  readonly nackBackoffMs?: number
}

export interface Global {
  readonly address: string
  readonly store: ResourceStore
  readonly sessions: ReturnType<typeof createSessionRegistry>
  /** The newest subscription each stream reported. */
  readonly reported: Map<string, Subscription>
  stop(): Promise<void>
}

const OWNED = new Set(['Mesh', 'MeshTimeout', 'MeshRetry', 'MeshCircuitBreaker'])
const tunablesOf = ({ flushIntervalMs = 20, fullResyncMs = 60_000, nackBackoffMs = 150 }: Tempo) => ({
  flushIntervalMs: createTunable(flushIntervalMs),
  fullResyncMs: createTunable(fullResyncMs),
  nackBackoffMs: createTunable(nackBackoffMs),
})
const observer = { response: () => undefined, delivered: () => undefined }
const log = pino({ enabled: false })

export async function startGlobal(options: Tempo & { readonly port?: number; readonly store?: ResourceStore } = {}): Promise<Global> {
  const store = options.store ?? createMemoryStore({ clock, kinds, instance: 'global-1' })
  const stopping = new AbortController()
  const directory = createSyncDirectory({
    store,
    codec,
    origin: 'global',
    types: DOWN_TYPES,
    owned: OWNED,
    mayCross: () => true,
    onUnsendable: () => undefined,
  })
  const running = [directory.run(stopping.signal)]
  await directory.ready()
  const sessions = createSessionRegistry()
  const reported = new Map<string, Subscription>()
  const note = (subscription: Subscription) => void reported.set(subscription.id, subscription)
  const zones = createZoneSessions({
    clock,
    newId: newRandomId,
    random: systemRandom,
    log,
    instance: 'global-1',
    version: 'test',
    codec,
    directory,
    store,
    register: async ({ subject }) => {
      await store.create({ key: subject, spec: { enabled: true } }, { writer: 'kds-sync' }).catch(() => undefined)
    },
    sessions,
    status: { open: (_, initial) => (note(initial), { update: note, close: (last) => (note(last), Promise.resolve()) }) },
    check: (draft) => checkSynced(kinds, draft),
    tunables: tunablesOf(options),
    observer,
  })
  const server = createKdsServer(
    { clock, protos, zones, onFault: () => undefined },
    { host: '127.0.0.1', port: options.port ?? 0, tls: undefined },
  )
  await server.listen()
  running.push(server.run(stopping.signal))
  return {
    address: server.address(),
    store,
    sessions,
    reported,
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

export interface ZoneEnd {
  readonly store: ResourceStore
  readonly sessions: ReturnType<typeof createSessionRegistry>
  /** How each connection ended: undefined = cleanly. */
  readonly ends: unknown[]
  stop(): Promise<void>
}

/** Connects again at once, however a connection ended. */
export async function startZone(
  target: string,
  name: string,
  options: Tempo & {
    readonly store?: ResourceStore
    readonly admit?: ApplyDeps['admit']
    readonly wrap?: (store: ResourceStore) => ResourceStore
  } = {},
): Promise<ZoneEnd> {
  const store = options.store ?? createMemoryStore({ clock, kinds, instance: name })
  const stopping = new AbortController()
  const directory = createSyncDirectory({
    store,
    codec,
    origin: { zone: name },
    types: UP_TYPES,
    owned: new Set(UP_TYPES),
    mayCross: () => true,
    onUnsendable: () => undefined,
  })
  const running = [directory.run(stopping.signal)]
  await directory.ready()
  const sessions = createSessionRegistry()
  const connector = createZoneConnector(
    {
      clock,
      random: systemRandom,
      newId: newRandomId,
      protos,
      codec,
      directory,
      store: options.wrap?.(store) ?? store,
      sessions,
      check: (draft) => checkSynced(kinds, draft),
      admit: options.admit,
      tunables: tunablesOf(options),
      observer,
      onError: () => undefined,
    },
    { zone: name, instance: `${name}-1`, version: 'test', config: () => '{}', global: { target, tls: undefined } },
  )
  const ends: unknown[] = []
  running.push(keepConnecting())
  return {
    store,
    sessions,
    ends,
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }

  async function keepConnecting() {
    while (!stopping.signal.aborted) {
      try {
        await connector.connect(attemptOf(stopping.signal))
        ends.push(undefined)
      } catch (error) {
        ends.push(error)
      }
      await clock.sleep(20, stopping.signal).catch(() => undefined)
    }
  }
}

const silent = () => undefined
function attemptOf(signal: AbortSignal): LinkAttempt {
  return {
    signal,
    number: 1,
    syncing: silent,
    live: silent,
    event: silent,
    bookmark: silent,
    request: silent,
    relist: silent,
    bad: silent,
    objects: silent,
    note: silent,
    listTurn: () => Promise.resolve(silent),
  }
}

export const byOperator = { writer: 'operator' }
export const meshKey = (name: string): ResourceKey => ({ type: 'Mesh', mesh: '', name })
export const timeout = (name: string, mesh = 'demo', connectTimeout = '5s'): ResourceDraft => ({
  key: { type: 'MeshTimeout', mesh, name },
  spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: connectTimeout } }] },
})

/** What a store has of these types, as text that does not depend on versions and times. */
export async function contentOf(store: ResourceStore, types: readonly string[]): Promise<readonly string[]> {
  const all: Resource[] = []
  for (const type of types) all.push(...(await store.list({ type, limit: 1000 })).items)
  return all
    .map(({ key, labels, spec }) => `${key.type} ${key.mesh}/${labels['kuma.io/display-name'] ?? key.name} ${JSON.stringify(spec)}`)
    .sort()
}

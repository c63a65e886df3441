import type { Logger } from 'pino'
import type { Clock } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import type { NewId, Random } from '../lib/random.ts'
import type { Part } from '../lib/supervisor.ts'
import type { SessionRegistry } from '../discovery/session-registry.ts'
import type { StatusPort } from '../discovery/status-port.ts'
import { createAdmissionWebhook } from '../kds/admission-webhook.ts'
import { checkSynced } from '../kds/check-synced.ts'
import { createKdsServer } from '../kds/kds-server.ts'
import { createKumaResourceCodec } from '../kds/kuma-resource.ts'
import { loadKdsProtos } from '../kds/protos.ts'
import { createSigningKeys, mayCross } from '../kds/signing-keys.ts'
import { createSpecCodec } from '../kds/spec-codec.ts'
import { createSyncDirectory } from '../kds/sync-directory.ts'
import { createZoneConnector } from '../kds/zone-connector.ts'
import { createZoneSessions, DOWN_TYPES, KDS_WRITER, type KdsObserver, UP_TYPES } from '../kds/zone-sessions.ts'
import type { LinkRegistry } from '../link/link-registry.ts'
import type { Kinds } from '../model/kind.ts'
import type { Zone } from '../model/kinds/zone.ts'
import type { Resource } from '../model/resource.ts'
import type { Settings } from '../settings/settings.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ConflictRetry, Upsert } from '../store/upsert.ts'
import type { Config } from './config.ts'

/** This process among control planes: what zones connect to, or a zone of a global. */
export interface Kds {
  readonly parts: readonly Part[]
  /** Resolves when what there is to send has been read; then takes the port, if it has one. */
  listen(): Promise<void>
  /** host:port where zones connect; null in a zone. */
  address(): string | null
  /** For the debug snapshot. */
  sizes(): Readonly<Record<string, number>>
}

export interface KdsDeps {
  readonly clock: Clock
  readonly random: Random
  readonly newId: NewId
  readonly log: Logger
  readonly instance: string
  readonly version: string
  readonly kinds: Kinds
  readonly store: ResourceStore
  readonly upsert: Upsert
  readonly retry: () => ConflictRetry
  readonly settings: Pick<Settings, 'tunable' | 'list'>
  readonly sessions: SessionRegistry
  readonly links: Pick<LinkRegistry, 'add'>
  /** Where the streams of zones report. */
  readonly status: StatusPort
  readonly observer: KdsObserver
  readonly onError: (what: string, error: unknown) => void
}

/** A global owns these also while it has none of them: an empty answer about them is the truth. */
const OWNED = ['Mesh', 'MeshTimeout', 'MeshRetry', 'MeshCircuitBreaker']
/** Of what a zone makes itself: the same. */
const ZONE_OWNED = ['Dataplane', 'DataplaneInsight']

export function createKds(config: Config, deps: KdsDeps): Kds {
  return config.zone === undefined ? createGlobal(config, deps) : createZone(config.zone, config, deps)
}

function createGlobal(config: Config, deps: KdsDeps): Kds {
  const { clock, store, kinds, onError } = deps
  const protos = loadKdsProtos()
  const codec = createKumaResourceCodec(protos, createSpecCodec(protos))
  const directory = createSyncDirectory({
    store,
    codec,
    origin: 'global',
    types: DOWN_TYPES,
    owned: new Set(OWNED),
    mayCross,
    onUnsendable: ({ key }, error) => onError(`put ${key.type} ${key.name} into a message for zones`, error),
  })
  const zones = createZoneSessions({
    ...deps,
    codec,
    directory,
    register: async ({ name, subject }) => {
      const disabled = (present: Resource<Zone> | undefined): Zone => {
        if (present?.spec.enabled === false)
          throw new CoreError('forbidden', `zone ${name} is disabled here: apply Zone ${name} with enabled: true to let it in`)
        return present?.spec ?? { enabled: true }
      }
      await deps.upsert<Zone>(subject, disabled, { writer: KDS_WRITER, conflictRetry: deps.retry() })
    },
    check: (draft) => checkSynced(kinds, draft),
    tunables: tunablesOf(deps.settings),
  })
  const server = createKdsServer(
    { clock, protos, zones, onFault: onError },
    { host: config.host, port: config.kdsPort, tls: config.kdsTls },
  )
  const keys = createSigningKeys({ store, protos, onError })
  return {
    address: server.address,
    sizes: () => ({ ...zones.sizes(), sent: directory.size() }),
    async listen() {
      await directory.ready()
      await server.listen()
    },
    parts: [
      { name: 'KDS directory', run: directory.run },
      { name: 'signing keys', run: keys.run },
      { name: 'KDS', run: server.run },
    ],
  }
}

function createZone({ name, global, webhook }: NonNullable<Config['zone']>, config: Config, deps: KdsDeps): Kds {
  const { store, kinds, onError } = deps
  const protos = loadKdsProtos()
  const codec = createKumaResourceCodec(protos, createSpecCodec(protos))
  const directory = createSyncDirectory({
    store,
    codec,
    origin: { zone: name },
    types: UP_TYPES,
    owned: new Set(ZONE_OWNED),
    mayCross,
    onUnsendable: ({ key }, error) => onError(`put ${key.type} ${key.name} into a message for the global`, error),
  })
  const connector = createZoneConnector(
    {
      ...deps,
      protos,
      codec,
      directory,
      check: (draft) => checkSynced(kinds, draft),
      admit: webhook && createAdmissionWebhook(webhook, deps),
      tunables: tunablesOf(deps.settings),
    },
    { zone: name, instance: deps.instance, version: deps.version, global, config: () => toldConfig(deps.settings, config) },
  )
  deps.links.add({
    id: 'kds/global',
    kind: 'kds',
    endpoint: `${global.tls === undefined ? 'grpc' : 'grpcs'}://${global.target}`,
    subject: `the global control plane of zone ${name}`,
    connector: {
      async connect(attempt) {
        // A first answer is the full truth: it must not be given before everything has been read.
        await directory.ready()
        await connector.connect(attempt)
      },
    },
  })
  return {
    address: () => null,
    sizes: () => ({ sent: directory.size() }),
    listen: () => Promise.resolve(),
    parts: [{ name: 'KDS directory', run: directory.run }],
  }
}

function tunablesOf(settings: Pick<Settings, 'tunable'>) {
  return {
    flushIntervalMs: settings.tunable('kds.flushIntervalMs'),
    fullResyncMs: settings.tunable('kds.fullResyncMs'),
    nackBackoffMs: settings.tunable('kds.nackBackoffMs'),
  }
}

/** What a zone tells its global of itself: its cadences above all, by the names a control plane of the family uses. */
function toldConfig(settings: Pick<Settings, 'tunable'>, { mode, store }: Config): string {
  const ms = (key: 'sink.dataplane.flushIntervalMs' | 'insight.idleTimeoutMs') => `${settings.tunable(key).get() / 1000}s`
  return JSON.stringify({
    mode,
    store: { type: store },
    xdsServer: { dataplaneStatusFlushInterval: ms('sink.dataplane.flushIntervalMs') },
    metrics: { dataplane: { idleTimeout: ms('insight.idleTimeoutMs') } },
  })
}

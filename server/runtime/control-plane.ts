import type { Clock } from '../lib/clock.ts'
import type { SessionRegistry } from '../discovery/session-registry.ts'
import type { Attention } from '../link/attention.ts'
import type { LinkRegistry } from '../link/link-registry.ts'
import type { Kinds } from '../model/kind.ts'
import type { Counters, DemoFault, InstanceSelf, SinkRow } from '../model/views.ts'
import type { RemoteZoneRow } from '../model/remote-zone.ts'
import type { ResourceKey } from '../model/resource.ts'
import type { Settings } from '../settings/settings.ts'
import type { InsightBoard } from '../sinks/insight-board.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { ResourceService } from './resource-service.ts'
import type { SlowReaders } from '../telemetry/slow-readers.ts'
import type { ConflictLedger } from '../telemetry/conflict-ledger.ts'

/** The whole of the running core, as the API sees it. Built by createControlPlane in dependency order. */
export interface ControlPlane {
  readonly clock: Clock
  readonly kinds: Kinds
  readonly store: ResourceStore
  readonly settings: Settings
  readonly board: InsightBoard
  readonly sessions: SessionRegistry
  readonly links: LinkRegistry
  readonly attention: Attention
  /** Zones of attached control planes; asking counts as looking. */
  remoteZones(): readonly RemoteZoneRow[]
  readonly conflicts: ConflictLedger
  readonly resources: ResourceService
  sinks(): readonly SinkRow[]
  /** When the sink's next attempt for this insight is due (epoch ms); null when none is planned here. */
  nextFlushAt(key: ResourceKey): number | null
  counters(): Counters
  /** Who follows live and does not keep up; the API tells it. */
  readonly readers: SlowReaders
  /** Sizes of all that grows with sessions, by `part.what`: what is left of sessions that have gone is seen here. */
  debugSnapshot(): Readonly<Record<string, number>>
  self(): InstanceSelf
  /** Prometheus text. */
  metricsText(): Promise<string>
  /** Why it can't serve; empty when it can. */
  notReadyBecause(): readonly string[]
  /** The simulated fleet's switches; undefined unless started with --demo. */
  readonly demo: DemoControls | undefined
  /** Starts everything; resolves when the last flushes are done and nothing is pending. */
  run(signal: AbortSignal): Promise<void>
}

export interface DemoControls {
  list(): readonly DemoFault[]
  /** Throws `not_found` naming the switches there are; resolves when the fleet has taken it. */
  set(name: string, active: boolean): Promise<void>
}

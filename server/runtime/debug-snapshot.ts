import type { SessionRegistry } from '../discovery/session-registry.ts'
import type { LinkRegistry } from '../link/link-registry.ts'
import type { InsightBoard } from '../sinks/insight-board.ts'
import type { MeshResyncer } from '../sinks/mesh-resyncer.ts'
import type { StatusSink } from '../sinks/status-sink.ts'
import type { ZombieFinaliser } from '../sinks/zombie-finaliser.ts'
import type { ReadCache } from '../store/read-cache.ts'
import type { ConflictLedger } from '../telemetry/conflict-ledger.ts'
import type { Identity } from '../xds/identity.ts'
import type { Lifecycle } from '../xds/lifecycle.ts'
import type { MeshDirectory } from '../xds/mesh-directory.ts'
import type { XdsServer } from '../xds/xds-server.ts'
import type { Kds } from './create-kds.ts'

interface DebugSnapshotDeps {
  readonly board: Pick<InsightBoard, 'total'>
  readonly cache: Pick<ReadCache, 'size'>
  readonly conflicts: Pick<ConflictLedger, 'sizes'>
  readonly directory: Pick<MeshDirectory, 'sizes'>
  readonly identity: Pick<Identity, 'size'>
  readonly kds: Pick<Kds, 'sizes'>
  readonly lifecycle: Pick<Lifecycle, 'size' | 'pending'>
  readonly links: Pick<LinkRegistry, 'counts'>
  readonly meshResyncer: Pick<MeshResyncer, 'size'>
  readonly sessions: Pick<SessionRegistry, 'size'>
  readonly sinks: Readonly<Record<string, Pick<StatusSink, 'sizes'>>>
  readonly xds: Pick<XdsServer, 'sizes'>
  readonly zombies: Readonly<Record<string, Pick<ZombieFinaliser, 'size'>>>
}

/** Everything that grows with sessions, by `part.what`: after they have gone it is as before they came. */
export function createDebugSnapshot(deps: DebugSnapshotDeps): () => Readonly<Record<string, number>> {
  return () => {
    const { board, cache, conflicts, directory, identity, kds, lifecycle, links, meshResyncer, sessions, sinks, xds, zombies } = deps
    return {
      'sessions.all': sessions.size(),
      'board.rows': board.total(),
      'identity.attached': identity.size(),
      'lifecycle.present': lifecycle.size(),
      'lifecycle.removals': lifecycle.pending(),
      'links.all': links.counts().total,
      'mesh-resyncer.known': meshResyncer.size(),
      ...prefixed('cache', cache.size()),
      ...prefixed('conflicts', conflicts.sizes()),
      ...prefixed('directory', directory.sizes()),
      ...prefixed('kds', kds.sizes()),
      ...prefixed('xds', xds.sizes()),
      ...Object.assign({}, ...Object.entries(sinks).map(([name, sink]) => prefixed(`sink.${name}`, sink.sizes()))),
      ...Object.assign({}, ...Object.entries(zombies).map(([name, finaliser]) => ({ [`zombies.${name}`]: finaliser.size() }))),
    }
  }
}

function prefixed(part: string, sizes: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(sizes).map(([what, size]) => [`${part}.${what}`, size]))
}

import type { Clock } from '../lib/clock.ts'
import type { SessionRegistry } from '../discovery/session-registry.ts'
import type { LinkRegistry } from '../link/link-registry.ts'
import type { Counters, SessionRow, SinkRow } from '../model/views.ts'
import type { InsightBoard } from '../sinks/insight-board.ts'
import type { StoreHealth } from '../store/resource-store.ts'
import type { ConflictLedger } from '../telemetry/conflict-ledger.ts'
import type { EventLoopLag } from '../telemetry/event-loop-lag.ts'
import type { Interruptions } from '../telemetry/interruptions.ts'
import type { SlowReaders } from '../telemetry/slow-readers.ts'

export interface CountersDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly board: Pick<InsightBoard, 'summary' | 'strips' | 'rejecting' | 'total' | 'revision' | 'membersRevision'>
  readonly conflicts: Pick<ConflictLedger, 'matrix' | 'recent'>
  readonly sessions: Pick<SessionRegistry, 'size' | 'list'>
  readonly links: Pick<LinkRegistry, 'counts'>
  readonly eventLoopLag: Pick<EventLoopLag, 'read'>
  readonly interruptions: Pick<Interruptions, 'recent'>
  readonly readers: Pick<SlowReaders, 'read'>
  readonly store: StoreHealth
  readonly sinks: () => readonly SinkRow[]
}

/** Every page asks for them; within this time all share one answer. */
const KEPT_MS = 200

/** What every page shows at a glance. */
export function createCounters(deps: CountersDeps): () => Counters {
  const { clock, board, conflicts, sessions, links, eventLoopLag, interruptions, readers, store, sinks } = deps
  let kept: { readonly at: number; readonly counters: Counters } | undefined

  return () => {
    const now = clock.monotonic()
    if (kept === undefined || now - kept.at >= KEPT_MS) kept = { at: now, counters: count() }
    return kept.counters
  }

  function count(): Counters {
    return {
      summary: board.summary(),
      strips: board.strips(),
      sinks: sinks(),
      conflicts: { cells: conflicts.matrix(), recent: conflicts.recent() },
      sessions: { xds: sessions.size('xds'), kds: sessions.size('kds') },
      zones: zonesOf(sessions.list('kds')),
      links: links.counts(),
      rejecting: board.rejecting(),
      eventLoopLagMs: eventLoopLag.read(),
      storeProblem: store.problem(),
      storeSlow: store.slow(),
      readers: readers.read(),
      interruption: interruptions.recent(),
      insightsTotal: board.total(),
      insightsRevision: board.revision(),
      insightsMembersRevision: board.membersRevision(),
    }
  }
}

/** By zone, whatever the direction: rejecting before syncing before synced. */
function zonesOf(rows: readonly SessionRow[]): Counters['zones'] {
  const byZone = Map.groupBy(rows, ({ subject }) => subject.name)
  const counts = { online: byZone.size, syncing: 0, rejecting: 0 }
  for (const streams of byZone.values()) {
    const types = streams.flatMap((row) => row.types)
    if (streams.some(({ refused }) => refused.length > 0) || types.some(({ status }) => status === 'rejected')) counts.rejecting++
    else if (types.some(({ status }) => status === 'pending')) counts.syncing++
  }
  return counts
}

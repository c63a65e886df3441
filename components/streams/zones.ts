import type { SessionRow, SessionTypeRow } from '../../server/model/views.ts'
import { stateOf } from './stream-list.ts'

/** What the page makes of the streams between control planes: pure. */

export interface ZoneStreams {
  readonly name: string
  readonly down: SessionRow | undefined
  readonly up: SessionRow | undefined
  /** The worst of both directions. */
  readonly state: 'rejecting' | 'pending' | 'synced'
  readonly agent: string | null
}

/** By name; a zone with one direction only is half connected, which shows. */
export function zonesOf(sessions: readonly SessionRow[]): readonly ZoneStreams[] {
  const byZone = Map.groupBy(
    sessions.filter(({ protocol }) => protocol === 'kds'),
    ({ subject }) => subject.name,
  )
  return [...byZone]
    .map(([name, streams]): ZoneStreams => {
      const down = streams.find(({ direction }) => direction === 'down')
      const up = streams.find(({ direction }) => direction === 'up')
      const states = streams.map((stream) => (stream.refused.length > 0 ? 'rejecting' : stateOf(stream)))
      const state = (['rejecting', 'pending'] as const).find((each) => states.includes(each)) ?? 'synced'
      return { name, down, up, state, agent: down?.agent ?? up?.agent ?? null }
    })
    .toSorted((a, b) => a.name.localeCompare(b.name))
}

/** Columns of the matrix: every type that any zone has in this direction, refused ones first. */
export function matrixTypes(zones: readonly ZoneStreams[], direction: 'down' | 'up'): readonly string[] {
  const types = new Map<string, SessionTypeRow['status']>()
  for (const zone of zones)
    for (const { type, status } of zone[direction]?.types ?? []) if (types.get(type) !== 'rejected') types.set(type, status)
  return [...types]
    .toSorted(([a, x], [b, y]) => Number(y === 'rejected') - Number(x === 'rejected') || a.localeCompare(b))
    .map(([type]) => type)
}

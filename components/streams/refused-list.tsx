import type { SessionRow } from '../../server/model/views.ts'
import { steadyAge } from '../insights/steady-age.ts'
import { formatQuantity } from '../format.ts'
import { Panel } from '../ui/panel.tsx'
import { StatusShape } from './type-mark.tsx'

export interface RefusedListProps {
  readonly sessions: readonly SessionRow[]
  readonly now: number
  readonly onOpen: (nodeId: string) => void
  readonly onOpenZone: (zone: string) => void
  readonly onShowAll: () => void
}

/** Listed here at most; the filter shows the rest. */
const LISTED = 4

/** What is refused now, first: who, what, why, since when. Nothing at all when nothing is. */
export function RefusedList({ sessions, now, onOpen, onOpenZone, onShowAll }: RefusedListProps) {
  const refused = sessions
    .flatMap((session) => session.types.flatMap((type) => (type.rejection === null ? [] : [{ session, type, rejection: type.rejection }])))
    .toSorted((a, b) => a.rejection.since - b.rejection.since || a.session.nodeId.localeCompare(b.session.nodeId))
  if (refused.length === 0) return null
  return (
    <Panel title={`${formatQuantity(refused.length, 'type')} refused`} className="live-values" aside="oldest first">
      <ul className="flex flex-col">
        {refused.slice(0, LISTED).map(({ session, type, rejection }) => (
          <li
            key={`${session.id} ${type.type}`}
            className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 border-t border-line py-1.5 first:border-0"
          >
            <StatusShape status="rejected" />
            <button
              type="button"
              onClick={() => (session.protocol === 'kds' ? onOpenZone(session.subject.name) : onOpen(session.nodeId))}
              className="cursor-pointer font-semibold hover:underline"
            >
              {session.protocol === 'kds' && 'zone '}
              {session.subject.name}
            </button>
            <span className="font-semibold text-stale-ink">{type.type}</span>
            <q className="min-w-0 flex-1 basis-64 truncate" title={rejection.reason}>
              {rejection.reason}
            </q>
            <span className="text-xs text-muted">for {steadyAge(now - rejection.since)}</span>
          </li>
        ))}
      </ul>
      {refused.length > LISTED && (
        <button type="button" onClick={onShowAll} className="mt-1.5 cursor-pointer text-accent hover:underline">
          and {refused.length - LISTED} more
        </button>
      )}
    </Panel>
  )
}

import type { LinkRow } from '../../server/model/link-row.ts'
import { formatRate, formatSpan } from '../format.ts'
import { useNow } from '../now.tsx'
import { Badge } from '../ui/badge.tsx'
import { HealthMark } from './health-mark.tsx'
import { isInTrouble, stateNote, stateText, toneOf } from './link-words.ts'
import { SwimLane } from './swim-lane.tsx'

export interface LinkTableProps {
  readonly links: readonly LinkRow[]
  readonly selected: string | null
  readonly onSelect: (id: string) => void
}

/** One row per link: what it is, what it does now and why, how its last hour was, and how fast it hears. */
export function LinkTable({ links, selected, onSelect }: LinkTableProps) {
  const now = useNow()
  return (
    <div
      // Focusable, so that it scrolls by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      role="region"
      aria-label="Links"
      className="live-values relative min-w-0 flex-1 overflow-x-auto rounded-xl border border-line bg-panel shadow-panel"
    >
      <table className="w-full text-left max-sm:block">
        <thead className="text-xs text-muted max-sm:sr-only">
          <tr>
            <th scope="col" className="px-3 py-2 font-normal">
              Link
            </th>
            <th scope="col" className="px-3 py-2 font-normal">
              State
            </th>
            <th scope="col" className="w-2/6 px-3 py-2 font-normal">
              Last hour
            </th>
            <th scope="col" className="px-3 py-2 text-right font-normal">
              Events
            </th>
            <th scope="col" className="px-3 py-2 text-right font-normal">
              Lag
            </th>
          </tr>
        </thead>
        <tbody className="max-sm:block">
          {links.map((link) => (
            <Row key={link.id} link={link} now={now} isSelected={link.id === selected} onSelect={() => onSelect(link.id)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  readonly link: LinkRow
  readonly now: number
  readonly isSelected: boolean
  readonly onSelect: () => void
}

function Row({ link, now, isSelected, onSelect }: RowProps) {
  const { id, subject, history, eventsPerSecond, eventLagMs, state } = link
  return (
    <tr
      className={`border-t border-line align-top max-sm:grid max-sm:gap-y-1 max-sm:px-3 max-sm:py-2 ${isSelected ? 'bg-soft' : 'hover:bg-soft/60'}`}
    >
      <th scope="row" className="max-w-64 min-w-44 px-3 py-2.5 lg:min-w-48 font-normal max-sm:max-w-full max-sm:min-w-0 max-sm:p-0">
        <button
          type="button"
          aria-pressed={isSelected}
          onClick={onSelect}
          className="cursor-pointer text-left font-semibold break-words hover:underline"
        >
          {id}
        </button>
        <div className="text-xs break-words text-muted">{subject}</div>
      </th>
      <td className="max-w-64 px-3 py-2.5 lg:max-w-80 max-sm:max-w-full max-sm:p-0">
        <div className="flex flex-wrap gap-1">
          <Badge tone={toneOf(link)}>{stateText(link, now)}</Badge>
          {isInTrouble(link) && <HealthMark health={link.health} />}
        </div>
        <div className="mt-0.5 text-xs break-words text-muted">{stateNote(link, now)}</div>
      </td>
      <td className="min-w-24 px-3 py-3.5 lg:min-w-32 max-sm:p-0">
        <SwimLane history={history} now={now} />
      </td>
      <td className="px-3 py-2.5 text-right whitespace-nowrap max-sm:hidden">
        {state.kind === 'live' ? formatRate(eventsPerSecond) : '–'}
      </td>
      <td className="px-3 py-2.5 text-right whitespace-nowrap max-sm:hidden">{eventLagMs === null ? '–' : formatSpan(eventLagMs.p99)}</td>
    </tr>
  )
}

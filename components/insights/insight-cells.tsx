import { ArrowLeftRight } from 'lucide-react'
import { type Freshness, freshnessAt } from '../../server/model/freshness.ts'
import type { InsightRow, Key } from '../../server/model/views.ts'
import { formatCount, formatSpan } from '../format.ts'
import { FreshnessMark } from '../freshness-mark.tsx'
import { Time } from '../time.tsx'
import { type ColumnId, columns } from './columns.ts'
import { steadyAge } from './steady-age.ts'
import { TideBar } from './tide-bar.tsx'
import { tideMarkAt } from './tide-geometry.ts'

const classNames = Object.fromEntries(columns.map(({ id, className }) => [id, className])) as Readonly<Record<ColumnId, string>>

function Cell({ column, label, children }: { readonly column: ColumnId; readonly label?: string; readonly children?: React.ReactNode }) {
  return (
    <div role="gridcell" aria-label={label} className={`min-w-0 truncate ${classNames[column]}`}>
      {children}
    </div>
  )
}

/** The cells of a row, judged at `now` by the same rule as the server judges. */
export function InsightCells({ row, now, isGone }: { readonly row: InsightRow; readonly now: number; readonly isGone: boolean }) {
  const level = freshnessAt(row, now)
  return (
    <>
      <Cell column="freshness">{isGone ? <span className="text-muted">gone</span> : <FreshnessMark level={level} />}</Cell>
      <Cell column="subject" label={row.subject.name}>
        <SubjectName name={row.subject.name} isGone={isGone} />
      </Cell>
      <Cell column="mesh">
        <span className="text-muted">{row.key.mesh}</span>
      </Cell>
      <Cell column="waiting">{!isGone && <Waiting row={row} level={level} now={now} />}</Cell>
      <Cell column="lastWrite">
        <span className="text-xs text-muted">{row.modifiedAt === 0 ? '–' : `${steadyAge(now - row.modifiedAt)} ago`}</span>
      </Cell>
      <Cell column="conflicts">{row.source === null ? <Conflicts conflicts={row.conflicts} /> : <Nothing />}</Cell>
      <Cell column="rejects">
        {row.nacked.length === 0 ? <Nothing /> : <span className="font-semibold text-stale-ink">{row.nacked.join(' ')}</span>}
      </Cell>
      <Cell column="writer">
        <Writer row={row} />
      </Cell>
    </>
  )
}

function Waiting({ row, level, now }: { readonly row: InsightRow; readonly level: Freshness; readonly now: number }) {
  if (level === 'unknown')
    return <span className="text-xs text-muted">{row.source === null ? 'before its first flush' : 'no sign of life'}</span>
  if (level === 'offline')
    return (
      <span className="text-xs text-muted">
        offline{' '}
        {row.offlineSince !== null && (
          <>
            since <Time at={row.offlineSince} />
          </>
        )}
      </span>
    )
  const { percent, by, ageMs, cadenceMs } = tideMarkAt(row, now)
  const isQuiet = by === 'heartbeat' && level === 'fresh'
  return (
    <span
      className="flex items-center gap-2"
      title={
        by === 'pending'
          ? `a change waits, interval ${formatSpan(cadenceMs)}`
          : `${row.source === null ? 'generation last moved' : 'last renewed'} ${steadyAge(ageMs)} ago, heartbeat ${formatSpan(cadenceMs)}`
      }
    >
      <TideBar percent={percent} freshness={level} />
      <span className={`w-13 shrink-0 truncate ${isQuiet ? 'text-xs text-muted' : ''}`}>
        {isQuiet ? 'quiet' : steadyAge(ageMs)}
        {by === 'heartbeat' && !isQuiet && <span className="sr-only"> without a heartbeat</span>}
      </span>
    </span>
  )
}

function Conflicts({ conflicts: { harmful, benign } }: Pick<InsightRow, 'conflicts'>) {
  if (harmful === 0) return <span className="text-xs text-muted">{formatCount(benign)}</span>
  return (
    <>
      <span className="font-semibold text-stale-ink">{formatCount(harmful)}</span>{' '}
      <span className="text-xs text-muted">/ {formatCount(benign)}</span>
      <span className="sr-only"> harmful / benign</span>
    </>
  )
}

/** Who wrote last; or the two who write one part of it in turn, each over the other. */
function Writer({ row: { writer, contenders } }: { readonly row: InsightRow }) {
  if (contenders.length === 0)
    return (
      <span className="text-xs text-muted" title={writer}>
        {writer || '–'}
      </span>
    )
  return (
    <span className="text-xs font-semibold text-late-ink" title={`${contenders.join(' and ')} write it in turn`}>
      <ArrowLeftRight aria-hidden className="mr-1 inline size-3" />
      {contenders.join(', ')}
      <span className="sr-only"> write it in turn</span>
    </span>
  )
}

function Nothing() {
  return <span className="hidden text-muted @min-[35rem]:inline">–</span>
}

/** Where it is too long, the namespace goes first: names tell apart. Its cell names the whole, or it would be read aloud as two words. */
function SubjectName({ name, isGone }: { readonly name: string; readonly isGone: boolean }) {
  const end = name.lastIndexOf('/') + 1
  return (
    <span className={`flex min-w-0 font-semibold ${isGone ? 'line-through' : ''}`} title={name}>
      {end > 0 && <span className="truncate font-normal text-muted">{name.slice(0, end)}</span>}
      <span className="max-w-full shrink-0 truncate">{name.slice(end)}</span>
    </span>
  )
}

/** A row that is on its way: its name is known from the order, the rest is drawn as soon as it arrives. */
export function PlaceholderCells({ insightKey }: { readonly insightKey: Key }) {
  return (
    <>
      {columns.map(({ id }) => (
        <Cell key={id} column={id}>
          {id === 'subject' ? (
            <span className="font-semibold text-muted">{insightKey.name}</span>
          ) : id === 'mesh' ? (
            <span className="text-muted">{insightKey.mesh}</span>
          ) : (
            <span aria-hidden className={`inline-block h-2 rounded-full bg-soft ${id === 'waiting' ? 'w-4/5' : 'w-1/2'}`} />
          )}
        </Cell>
      ))}
    </>
  )
}

/** A row of the order that is not in the store any more, and that was never on screen. */
export function GoneCells({ insightKey }: { readonly insightKey: Key }) {
  return (
    <>
      {columns.map(({ id }) => (
        <Cell key={id} column={id}>
          {id === 'freshness' && <span className="text-muted">gone</span>}
          {id === 'subject' && <span className="text-muted line-through">{insightKey.name}</span>}
          {id === 'mesh' && <span className="text-muted">{insightKey.mesh}</span>}
        </Cell>
      ))}
    </>
  )
}

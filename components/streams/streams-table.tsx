'use client'

import { useRef } from 'react'
import type { SessionRow } from '../../server/model/views.ts'
import { steadyAge } from '../insights/steady-age.ts'
import { useNow } from '../now.tsx'
import { useRowWindow } from '../ui/use-row-window.ts'
import { TYPES } from './stream-list.ts'
import { TypeMark } from './type-mark.tsx'

export interface StreamsTableProps {
  readonly sessions: readonly SessionRow[]
  readonly selected: string | null
  readonly onSelect: (nodeId: string) => void
}

const ROW_PX = 34
const OVERSCAN = 12
/** What the server draws, and the browser until it has measured. */
const FIRST_PX = 800
const COLUMNS = 'grid-cols-[minmax(10rem,1.4fr)_5.5rem_4.5rem_repeat(5,4.2rem)_minmax(10rem,2fr)]'
const headings = ['Data plane', 'Mesh', 'Variant', ...TYPES, 'What it refuses'] as const

/** Only the rows on screen are drawn, however many streams there are. */
export function StreamsTable({ sessions, selected, onSelect }: StreamsTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const now = useNow()
  const { first, end } = useRowWindow(scroller, { rowCount: sessions.length, rowPx: ROW_PX, firstPx: FIRST_PX })
  const from = Math.max(0, first - OVERSCAN)
  return (
    <div className="min-h-0 min-w-0 flex-1 overflow-hidden rounded-xl border border-line bg-panel shadow-panel">
      <div
        ref={scroller}
        // Focusable, so that it scrolls by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="table"
        aria-label="Streams"
        aria-rowcount={sessions.length + 1}
        className="max-h-[calc(100dvh-9.5rem)] overflow-auto outline-offset-[-2px]"
      >
        <div role="rowgroup" className="sticky top-0 z-10 min-w-[58rem] border-b border-line bg-panel text-xs text-muted">
          <div role="row" aria-rowindex={1} className={`grid ${COLUMNS} gap-x-3 px-3 py-2`}>
            {headings.map((heading) => (
              <span key={heading} role="columnheader">
                {heading}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="live-values relative min-w-[58rem]" style={{ height: ROW_PX * sessions.length }}>
          {sessions.slice(from, end + OVERSCAN).map((session, offset) => {
            const index = from + offset
            return (
              <div
                key={session.id}
                role="row"
                aria-rowindex={index + 2}
                className={`absolute inset-x-0 top-0 grid ${COLUMNS} items-center gap-x-3 border-b border-line px-3 ${session.nodeId === selected ? 'bg-soft' : 'hover:bg-soft/60'}`}
                style={{ height: ROW_PX, transform: `translateY(${index * ROW_PX}px)` }}
              >
                <StreamCells
                  session={session}
                  now={now}
                  onSelect={() => onSelect(session.nodeId)}
                  isSelected={session.nodeId === selected}
                />
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

interface CellsProps {
  readonly session: SessionRow
  readonly now: number
  readonly isSelected: boolean
  readonly onSelect: () => void
}

function StreamCells({ session, now, isSelected, onSelect }: CellsProps) {
  const refused = session.types.find(({ status }) => status === 'rejected')
  return (
    <>
      <span role="cell" className="min-w-0">
        <button
          type="button"
          aria-pressed={isSelected}
          onClick={onSelect}
          className="w-full cursor-pointer truncate text-left font-semibold hover:underline"
        >
          {session.subject.name}
        </button>
      </span>
      <span role="cell" className="truncate text-muted">
        {session.subject.mesh}
      </span>
      <span role="cell" className="text-muted">
        {session.variant}
      </span>
      {TYPES.map((wanted) => {
        const type = session.types.find((each) => each.type === wanted)
        return (
          <span key={wanted} role="cell" className="text-xs">
            {type === undefined ? <span className="text-muted">–</span> : <TypeMark type={type} age={steadyAge(now - type.lastAt)} />}
          </span>
        )
      })}
      <span role="cell" className="truncate text-xs" title={refused?.error ?? undefined}>
        {refused === undefined ? (
          <span className="text-muted">nothing</span>
        ) : (
          <>
            <b className="font-semibold text-stale-ink">{refused.type}</b> {refused.error}
          </>
        )}
      </span>
    </>
  )
}

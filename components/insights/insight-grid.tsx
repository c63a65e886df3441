'use client'

import {
  type ComponentType,
  type KeyboardEvent,
  type MouseEvent,
  memo,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { isSameKey, toKeyString } from '../../server/model/resource.ts'
import type { InsightSort, Key } from '../../server/model/views.ts'
import { scrollToRow, useRowWindow } from '../ui/use-row-window.ts'
import { columns, rowGrid, rowHeights } from './columns.ts'
import { nextActiveRow } from './grid-navigation.ts'

export interface InsightGridProps {
  /** The order of the view. Its rows are whatever `Row` draws for a key: this grid knows where they stand, not what is in them. */
  readonly keys: readonly Key[]
  readonly sort: InsightSort
  readonly onSort: (sort: InsightSort) => void
  /** The insight whose detail is open. */
  readonly openKey: Key | null
  readonly onOpen: (key: Key) => void
  /** The keys on screen with a few on either side, whenever they change. */
  readonly onWindow: (keys: readonly Key[]) => void
  /** Whether the list is scrolled to its top. */
  readonly onAtTop: (isAtTop: boolean) => void
  /** The cells of one row. Subscribes to its own row, so that a change renders one row. */
  readonly Row: ComponentType<{ readonly insightKey: Key }>
  /** A newer order is being fetched. */
  readonly isBusy: boolean
}

const OVERSCAN = 8
/** What the server draws, and the browser until it has measured. */
const FIRST_PX = 640
const DEFAULT_ROW_PX = 32
const HEADER_PX = 32

export function InsightGrid({ keys, sort, onSort, openKey, onOpen, onWindow, onAtTop, Row, isBusy }: InsightGridProps) {
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const [activeKey, setActiveKey] = useState<Key | undefined>(undefined)
  const active = useMemo(() => (activeKey === undefined ? -1 : keys.findIndex((key) => isSameKey(key, activeKey))), [keys, activeKey])
  const rowPx = useRowHeight(scroller)

  const { first, end } = useRowWindow(scroller, { rowCount: keys.length, rowPx, firstPx: FIRST_PX })
  const from = Math.max(0, first - OVERSCAN)
  const to = Math.min(keys.length, end + OVERSCAN)
  const indexes = Array.from({ length: to - from }, (_, offset) => from + offset)
  // The active row stays in the document when it is scrolled away: focus is told by aria-activedescendant, which must point to something.
  if (active !== -1 && active < from) indexes.unshift(active)
  else if (active >= to) indexes.push(active)
  useEffect(() => onWindow(keys.slice(from, to)), [keys, from, to, onWindow])
  const isAtTop = first === 0
  useEffect(() => onAtTop(isAtTop), [isAtTop, onAtTop])

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== event.currentTarget) return
    const key = keys[active]
    if ((event.key === 'Enter' || event.key === ' ') && key !== undefined) {
      event.preventDefault()
      return onOpen(key)
    }
    const next = nextActiveRow(event.key, {
      active,
      rowCount: keys.length,
      pageRows: Math.floor((scroller.current?.clientHeight ?? 0) / rowPx) - 1,
    })
    const nextKey = next === undefined ? undefined : keys[next]
    if (next === undefined || nextKey === undefined) return
    event.preventDefault()
    setActiveKey(nextKey)
    if (scroller.current !== null) scrollToRow(scroller.current, next, { rowPx, headerPx: HEADER_PX })
    if (openKey !== null) onOpen(nextKey)
  }

  // One listener for all rows: a row is reached by the grid's arrows and opened by Enter.
  const onClick = (event: MouseEvent<HTMLDivElement>) => {
    const row = (event.target as HTMLElement).closest('[role=row]')
    const key = row === null ? undefined : keys[Number(row.getAttribute('aria-rowindex')) - 2]
    if (key === undefined) return
    setActiveKey(key)
    onOpen(key)
  }

  return (
    <div className="@container flex min-h-0 flex-1 flex-col">
      <div
        ref={scroller}
        role="grid"
        aria-label="Insights"
        aria-rowcount={keys.length + 1}
        aria-busy={isBusy}
        aria-activedescendant={active === -1 ? undefined : `${id}-${active}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onClick={onClick}
        className={`group/grid relative min-h-0 flex-1 overflow-y-auto overscroll-contain outline-none focus-visible:ring-2 focus-visible:ring-accent focus-visible:ring-inset ${rowHeights}`}
      >
        <HeaderRow sort={sort} onSort={onSort} />
        <div role="rowgroup" className="relative" style={{ height: `calc(var(--row-h) * ${keys.length})` }}>
          {indexes.map((index) => {
            const key = keys[index]
            if (key === undefined) return null
            return (
              <GridRow
                key={toKeyString(key)}
                id={`${id}-${index}`}
                insightKey={key}
                index={index}
                isActive={index === active}
                isOpen={openKey !== null && isSameKey(key, openKey)}
                Row={Row}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

interface GridRowProps {
  readonly id: string
  readonly insightKey: Key
  readonly index: number
  readonly isActive: boolean
  readonly isOpen: boolean
  readonly Row: ComponentType<{ readonly insightKey: Key }>
}

const GridRow = memo(function GridRow({ id, insightKey, index, isActive, isOpen, Row }: GridRowProps) {
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      style={{ transform: `translateY(calc(var(--row-h) * ${index}))` }}
      className={`absolute inset-x-0 top-0 h-(--row-h) cursor-pointer border-b border-line ${rowGrid} ${isOpen ? 'bg-soft' : 'hover:bg-soft/60'} ${
        isActive
          ? 'group-focus-visible/grid:outline-2 group-focus-visible/grid:-outline-offset-2 group-focus-visible/grid:outline-accent'
          : ''
      }`}
    >
      <Row insightKey={insightKey} />
    </div>
  )
})

function HeaderRow({ sort, onSort }: Pick<InsightGridProps, 'sort' | 'onSort'>) {
  return (
    <div role="rowgroup" className="sticky top-0 z-10 bg-panel">
      <div
        role="row"
        aria-rowindex={1}
        className={`hidden h-8 border-b border-line text-xs text-muted @min-[35rem]:grid ${rowGrid.replace(/^grid /, '')}`}
      >
        {columns.map((column) => (
          <div
            key={column.id}
            role="columnheader"
            aria-sort={'sort' in column && column.sort.by === sort ? column.sort.direction : undefined}
            className={`truncate ${column.className}`}
          >
            {'sort' in column ? (
              <button
                type="button"
                onClick={() => onSort(column.sort.by)}
                className={`cursor-pointer rounded-sm hover:text-ink focus-visible:outline-2 focus-visible:outline-accent ${column.sort.by === sort ? 'font-semibold text-ink' : ''}`}
              >
                {column.label}
                {column.sort.by === sort && <SortMark direction={column.sort.direction} />}
              </button>
            ) : (
              column.label
            )}
          </div>
        ))}
      </div>
    </div>
  )
}

function SortMark({ direction }: { readonly direction: 'ascending' | 'descending' }) {
  return (
    <svg aria-hidden viewBox="0 0 8 8" className="ml-1 inline size-2 fill-current">
      <path d={direction === 'ascending' ? 'M4 1 7 7H1Z' : 'M4 7 1 1h6Z'} />
    </svg>
  )
}

/** One row's height in px: it is given in rem and by the list's own width, so it is read back where either may have changed. */
function useRowHeight(scroller: React.RefObject<HTMLDivElement | null>): number {
  const [rowPx, setRowPx] = useState(DEFAULT_ROW_PX)
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const read = () => {
      const row = element.querySelector<HTMLElement>('[aria-rowindex]:not([aria-rowindex="1"])')
      if (row !== null) setRowPx(row.offsetHeight)
    }
    const observer = new ResizeObserver(read)
    observer.observe(element)
    return () => observer.disconnect()
  }, [scroller])
  return rowPx
}

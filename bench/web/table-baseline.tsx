import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { createRoot } from 'react-dom/client'

/**
 * A live list as it is usually made: all rows in one array, a new array ten times a second with what changed in it, given to a
 * table that makes a row model of it (one object per row with its cells' values, then the sorted order) and draws what is in view
 * through the same virtualiser as ours.
 */
interface Datum {
  readonly name: string
  readonly mesh: string
  readonly freshness: string
  readonly waitingMs: number
  readonly modifiedAt: number
  readonly conflicts: number
  readonly writer: string
}

const ROWS = 50_000
const PER_SECOND = 1_000
const UPDATES_PER_SECOND = 10
const columns = ['freshness', 'name', 'mesh', 'waitingMs', 'modifiedAt', 'conflicts', 'writer'] as const

const makeRows = (): readonly Datum[] =>
  Array.from({ length: ROWS }, (_, index) => ({
    name: `dp-${String(index).padStart(5, '0')}`,
    mesh: 'default',
    freshness: 'fresh',
    waitingMs: 0,
    modifiedAt: 1_800_000_000_000,
    conflicts: 0,
    writer: 'dataplane-sink',
  }))

function Table() {
  const [data, setData] = useState(makeRows)
  const scroller = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let next = 0
    const timer = setInterval(() => {
      setData((before) => {
        const rows = [...before]
        for (let change = 0; change < PER_SECOND / UPDATES_PER_SECOND; change++) {
          const index = (next++ * 7_919) % ROWS
          const row = rows[index]!
          rows[index] = { ...row, waitingMs: row.waitingMs + 1, modifiedAt: row.modifiedAt + 1_000 }
        }
        return rows
      })
    }, 1_000 / UPDATES_PER_SECOND)
    return () => clearInterval(timer)
  }, [])
  const rows = useMemo(
    () =>
      data
        .map((original, index) => ({ id: String(index), index, original, values: columns.map((column) => original[column]) }))
        .sort((a, b) => (a.original.name < b.original.name ? -1 : a.original.name > b.original.name ? 1 : 0)),
    [data],
  )
  const virtualizer = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => 32, overscan: 8 })
  return (
    <div ref={scroller} role="grid" style={{ height: 800, overflow: 'auto' }}>
      <div style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => (
          <div
            key={rows[index]!.id}
            role="row"
            style={{ position: 'absolute', height: 32, width: '100%', transform: `translateY(${start}px)`, display: 'flex', gap: 12 }}
          >
            {rows[index]!.values.map((value, column) => (
              <span key={columns[column]} style={{ width: 140 }}>
                {value}
              </span>
            ))}
          </div>
        ))}
      </div>
    </div>
  )
}

createRoot(document.getElementById('root')!).render(<Table />)

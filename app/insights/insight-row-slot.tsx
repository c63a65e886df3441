'use client'

import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo } from 'react'
import { GoneCells, InsightCells, PlaceholderCells } from '../../components/insights/insight-cells.tsx'
import { type KeyString, toKeyString } from '../../server/model/resource.ts'
import type { InsightRow, Key } from '../../server/model/views.ts'
import { useLiveRows, useNow, useRow } from '../live/use-live.ts'
import type { FirstPage } from './first-page.ts'

const FirstRowsContext = createContext<ReadonlyMap<KeyString, InsightRow>>(new Map())

/** The rows that came with the page: drawn on the server, and in the browser until the live rows are there. */
export function FirstRows({ first, children }: { readonly first: FirstPage; readonly children: ReactNode }) {
  const rows = useMemo(() => new Map(first.rows.map((row) => [toKeyString(row.key), row])), [first.rows])
  const live = useLiveRows()
  // Before the list asks for what it lacks.
  useLayoutEffect(() => live.put(first.rows.filter(({ key }) => !live.has(key))), [live, first.rows])
  return <FirstRowsContext value={rows}>{children}</FirstRowsContext>
}

/** One row of the list, on its own slot of the row store and the shared ticker: what changes in it renders nothing else. */
export function InsightRowSlot({ insightKey }: { readonly insightKey: Key }) {
  const slot = useRow(insightKey)
  const first = useContext(FirstRowsContext).get(toKeyString(insightKey))
  const now = useNow()
  const row = slot?.row ?? first
  if (row !== undefined) return <InsightCells row={row} now={now} isGone={slot?.isGone ?? false} />
  return slot?.isGone === true ? <GoneCells insightKey={insightKey} /> : <PlaceholderCells insightKey={insightKey} />
}

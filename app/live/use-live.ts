'use client'

import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { CountersGlance, InsightRow, Key } from '../../server/model/views.ts'
import { useLive } from './live-provider.tsx'
import type { RowSlot } from './live-rows.ts'
import type { LiveStatus } from './live-status.ts'

export { useNow } from '../../components/now.tsx'

/** A part of what every page shows, live; of what came with the page until the feed has begun. Renders when that part is another value. */
export function useGlance<T>(select: (glance: CountersGlance) => T): T {
  const { store, first } = useLive()
  return useSyncExternalStore(
    store.subscribeGlance,
    () => select(store.glance()),
    () => select(first.glance),
  )
}

/** One insight, live while it is among the rows in view. Undefined while nothing is known of it. */
export function useRow(key: Key): RowSlot | undefined {
  const { rows } = useLive().store
  const { type, mesh, name } = key
  const subscribe = useCallback((listener: () => void) => rows.subscribe({ type, mesh, name }, listener), [rows, type, mesh, name])
  return useSyncExternalStore(
    subscribe,
    () => rows.get(key),
    () => undefined,
  )
}

/** The rows of this tab, for who shows many of them. */
export interface LiveRowsAccess {
  /** Whether anything is known of it: a row, or that it is gone. */
  has(key: Key): boolean
  put(rows: readonly InsightRow[]): void
  markGone(keys: readonly Key[]): void
  /** These are on screen from now on: the feed follows them. */
  setInView(keys: readonly Key[]): void
}

export function useLiveRows(): LiveRowsAccess {
  const { store, subscription } = useLive()
  return useMemo(
    () => ({ has: store.rows.has, put: store.rows.put, markGone: store.rows.markGone, setInView: subscription.setRows }),
    [store, subscription],
  )
}

/** How current the page is; `part` picks what one shows of it, so that one renders when that changes. */
export function useLiveStatus<T extends string | number | boolean>(part: (status: LiveStatus) => T): T {
  const { store, ticker } = useLive()
  const subscribe = useCallback(
    (listener: () => void) => {
      const endStatus = store.subscribeStatus(listener)
      const endTicker = ticker.subscribe(listener)
      return () => {
        endStatus()
        endTicker()
      }
    },
    [store, ticker],
  )
  return useSyncExternalStore(
    subscribe,
    () => part(store.status()),
    () => part({ kind: 'connecting' }),
  )
}

'use client'

import { useEffect, useEffectEvent } from 'react'
import { autoRefreshMs, type InsightOrder, orderNewsOf } from '../../components/insights/insight-order.ts'
import { OrderPill } from '../../components/insights/order-pill.tsx'
import type { InsightFilter } from '../../server/model/views.ts'
import { useGlance } from '../live/use-live.ts'

export interface OrderWatchProps {
  readonly filter: InsightFilter
  readonly order: InsightOrder
  /** Nobody has a hand on the list: it is at its top, and neither pointer nor focus is in it. */
  readonly isUntouched: boolean
  readonly isFetching: boolean
  /** Epoch ms by the browser's clock. */
  readonly takenAt: number
  /** What could not be read, while it is being tried again or waits to be. */
  readonly problem: string | undefined
  readonly onRefresh: () => void
  /** A refresh that nobody asked for: the list stays where it is. */
  readonly onAutoRefresh: () => void
}

/**
 * The order of a view is taken once. While somebody reads or works in the list, what is new waits behind a pill; while nobody
 * does, a list at its top takes its order again by itself, so that a page on a wall shows the worst first.
 */
export function OrderWatch({ filter, order, isUntouched, isFetching, takenAt, problem, onRefresh, onAutoRefresh }: OrderWatchProps) {
  const revision = useGlance(({ insightsRevision }) => insightsRevision)
  const membersRevision = useGlance(({ insightsMembersRevision }) => insightsMembersRevision)
  const total = useGlance(({ insightsTotal }) => insightsTotal)
  const news = orderNewsOf({ filter, order, revision, membersRevision, total })
  const isDue = news !== undefined && isUntouched && !isFetching
  const refresh = useEffectEvent(onAutoRefresh)
  useEffect(() => {
    if (!isDue) return
    const timer = setTimeout(
      () => {
        if (document.visibilityState === 'visible') refresh()
      },
      Math.max(0, takenAt + autoRefreshMs(order.keys.length) - Date.now()),
    )
    return () => clearTimeout(timer)
  }, [isDue, takenAt, order.keys.length])
  return <OrderPill news={isUntouched ? undefined : news} problem={problem} onRefresh={onRefresh} />
}

'use client'

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type InsightOrder, joinOrder } from '../../components/insights/insight-order.ts'
import { useTRPC, useTRPCClient } from '../trpc-client.tsx'
import type { FirstPage } from './first-page.ts'
import type { InsightFilter } from '../../server/model/views.ts'

export interface OrderQuery {
  /** Undefined until the first answer of a view that did not come with the page. */
  readonly order: InsightOrder | undefined
  /** What is shown is of another filter, or only the head of a long order: the present one is on its way. */
  readonly isPartial: boolean
  readonly isFetching: boolean
  readonly error: { readonly message: string } | null
  /** Epoch ms by the browser's clock. */
  readonly takenAt: number
  readonly refresh: () => void
}

/**
 * The order of a view, taken once: it is never fetched again by itself, and forgotten with the view. A short one comes with the
 * page; of a long one the page brings the head, which is shown until the whole is there and keeps its place in it.
 */
export function useInsightOrder(filter: InsightFilter, first: FirstPage): OrderQuery {
  const trpc = useTRPC()
  const client = useTRPCClient()
  const [headOf] = useState(() => new Map([[JSON.stringify(first.filter), first.head]]))
  const filterId = JSON.stringify(filter)
  const query = useQuery({
    queryKey: trpc.insights.order.queryKey(filter),
    queryFn: async ({ signal }) => {
      const whole = await client.insights.order.query(filter, { signal })
      const head = headOf.get(filterId)
      headOf.delete(filterId)
      return head === undefined ? whole : { ...whole, ...joinOrder(head.keys, whole) }
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    // Comparing 50,000 keys one by one with those before costs more than drawing the forty on screen.
    structuralSharing: false,
    placeholderData: keepPreviousData,
  })
  const isPartial = query.data === undefined || query.isPlaceholderData
  return {
    order: isPartial ? (headOf.get(filterId) ?? query.data) : query.data,
    isPartial,
    isFetching: query.isFetching,
    error: query.error,
    takenAt: query.dataUpdatedAt,
    refresh: () => void query.refetch(),
  }
}

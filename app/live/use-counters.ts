'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Counters } from '../../server/model/views.ts'
import { useTRPC } from '../trpc-client.tsx'
import { useLive } from './live-provider.tsx'

/**
 * A part of all counters: renders when that part is another value. The feed carries them while somebody shows them, and writes them
 * into this query; the page prefetches it, so that what it shows first is not from the last time somebody did.
 */
export function useCounters<T>(select: (counters: Counters) => T): T {
  const { subscription } = useLive()
  useEffect(() => subscription.followCounters(), [subscription])
  const trpc = useTRPC()
  const options = trpc.overview.counters.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY })
  return useSuspenseQuery({ ...options, select: ({ counters }) => select(counters) }).data
}

'use client'

import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { NowProvider, type NowSource } from '../../components/now.tsx'
import { countersOf } from '../../server/model/live-frames.ts'
import type { Counters } from '../../server/model/views.ts'
import { useTRPC, useTRPCClient } from '../trpc-client.tsx'
import { createLiveStore, type FirstGlance, type LiveStore } from './live-store.ts'
import { createLiveSubscription, type LiveSubscription } from './live-subscription.ts'
import { createTicker, monotonicNow, type Ticker } from './ticker.ts'

interface Live {
  readonly first: FirstGlance
  readonly store: LiveStore
  readonly subscription: LiveSubscription
  readonly ticker: Ticker
  readonly nowSource: NowSource
}

/** What `overview.counters` answers. */
interface AllCounters {
  readonly now: number
  readonly counters: Counters
}

const LiveContext = createContext<Live | undefined>(undefined)

export function useLive(): Live {
  const live = useContext(LiveContext)
  if (live === undefined) throw new Error('live data needs a LiveProvider above it')
  return live
}

/** One subscription for the whole tab, whatever page is open. */
export function LiveProvider({ first, children }: { readonly first: FirstGlance; readonly children: ReactNode }) {
  const client = useTRPCClient()
  const queryClient = useQueryClient()
  const countersKey = useTRPC().overview.counters.queryKey()
  const [live] = useState(() => createLive(client, first, (value) => queryClient.setQueryData<AllCounters>(countersKey, value)))
  useEffect(() => {
    live.subscription.start()
    return () => live.subscription.stop()
  }, [live])
  return (
    <LiveContext value={live}>
      <NowProvider value={live.nowSource}>{children}</NowProvider>
    </LiveContext>
  )
}

function createLive(client: ReturnType<typeof useTRPCClient>, first: FirstGlance, onCounters: (value: AllCounters) => void): Live {
  const store = createLiveStore(first, monotonicNow)
  const ticker = createTicker()
  const subscription = createLiveSubscription({
    open(scope, on) {
      const { unsubscribe } = client.live.subscribe(scope, {
        onData: on.onFrame,
        onError: on.onEnd,
        onComplete: on.onEnd,
        onConnectionStateChange: ({ state, error }) => {
          if (state === 'connecting' && error !== null) on.onLost()
        },
      })
      return unsubscribe
    },
    onFrame(frame, scope) {
      store.take(frame, scope)
      const counters = countersOf(frame)
      if (counters !== undefined) onCounters({ now: frame.now, counters })
    },
    onLost: store.lose,
    later(run, ms) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  })
  return { first, store, subscription, ticker, nowSource: { now: store.now, firstNow: first.now, subscribe: ticker.subscribe } }
}

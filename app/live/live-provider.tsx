'use client'

import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { NowProvider, type NowSource } from '../../components/now.tsx'
import { useTRPCClient } from '../trpc-client.tsx'
import { createLiveStore, type FirstCounters, type LiveStore } from './live-store.ts'
import { createLiveSubscription, type LiveSubscription } from './live-subscription.ts'
import { createTicker, monotonicNow, type Ticker } from './ticker.ts'

interface Live {
  readonly first: FirstCounters
  readonly store: LiveStore
  readonly subscription: LiveSubscription
  readonly ticker: Ticker
  readonly nowSource: NowSource
}

const LiveContext = createContext<Live | undefined>(undefined)

export function useLive(): Live {
  const live = useContext(LiveContext)
  if (live === undefined) throw new Error('live data needs a LiveProvider above it')
  return live
}

/** One subscription for the whole tab, whatever page is open. */
export function LiveProvider({ first, children }: { readonly first: FirstCounters; readonly children: ReactNode }) {
  const client = useTRPCClient()
  const [live] = useState(() => createLive(client, first))
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

function createLive(client: ReturnType<typeof useTRPCClient>, first: FirstCounters): Live {
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
    onFrame: store.take,
    onLost: store.lose,
    later(run, ms) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  })
  return { first, store, subscription, ticker, nowSource: { now: store.now, firstNow: first.now, subscribe: ticker.subscribe } }
}

'use client'

import { useEffect, useEffectEvent } from 'react'
import { useLiveStatus } from '../live/use-live.ts'

/** Calls `run` when the feed is live again after it was not: what failed in between can be had now. */
export function useWhenLiveAgain(run: () => void): void {
  const isLive = useLiveStatus(({ kind }) => kind === 'live')
  const onLive = useEffectEvent(run)
  useEffect(() => {
    if (isLive) onLive()
  }, [isLive])
}

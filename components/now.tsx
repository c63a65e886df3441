'use client'

import { createContext, useContext, useSyncExternalStore } from 'react'

/** The moment that everything on a page is judged by: one ticker for all of it, by the server's clock. */
export interface NowSource {
  /** Epoch ms, by the server's clock. */
  now(): number
  /** When the page was made: what the server drew, and what the browser must draw first. */
  readonly firstNow: number
  /** Calls back a few times a second. */
  subscribe(changed: () => void): () => void
}

const NowContext = createContext<NowSource | undefined>(undefined)

export const NowProvider = NowContext

/** Now, moving in steps of `stepMs` (a second unless asked otherwise): a component renders no more often than it has something new to say. */
export function useNow(stepMs = 1000): number {
  const source = useContext(NowContext)
  if (source === undefined) throw new Error('useNow needs a NowProvider above it')
  return useSyncExternalStore(
    source.subscribe,
    () => Math.floor(source.now() / stepMs) * stepMs,
    () => source.firstNow,
  )
}

'use client'

import { useRouter } from 'next/navigation'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { useLive } from '../live/live-provider.tsx'
import type { LiveStatus } from '../live/live-status.ts'
import type { LiveStore } from '../live/live-store.ts'
import { heldHrefOf } from './held-href.ts'

interface HeldNavigation {
  readonly go: (href: string) => void
  /** Where the page goes as soon as the server answers. */
  readonly held: string | undefined
}

const HeldNavigationContext = createContext<HeldNavigation>({ go: () => {}, held: undefined })

export function useHeldNavigation(): HeldNavigation {
  return useContext(HeldNavigationContext)
}

/**
 * Ways to other pages, while the server may be away: a page is made by it, and one that is asked for in vain would be the
 * browser's error page, from which nothing comes back by itself. So the way is held, and gone as soon as the server answers: the
 * feed, or the question whether it is only the feed that does not.
 */
export function HeldNavigationProvider({ children }: { readonly children: ReactNode }) {
  const router = useRouter()
  const { store } = useLive()
  const [held, setHeld] = useState<string>()
  const [ways] = useState(() => createWays(store, setHeld))
  useEffect(() => ways.follow((href) => router.push(href)), [ways, router])
  const navigation = useMemo(() => ({ go: ways.go, held }), [ways, held])
  return <HeldNavigationContext value={navigation}>{children}</HeldNavigationContext>
}

function createWays(store: Pick<LiveStore, 'status' | 'subscribeStatus'>, onHeld: (href: string | undefined) => void) {
  let held: string | undefined
  let push = (_href: string) => {}

  function hold(href: string | undefined) {
    held = href
    onHeld(href)
  }
  function leave() {
    const href = held
    if (href === undefined) return
    hold(undefined)
    push(href)
  }
  function go(href: string) {
    hold(href)
    if (!isSilent(store.status())) return leave()
    // Where it does not answer, the feed tells when it does.
    fetch('/healthz', { cache: 'no-store' }).then(
      ({ ok }) => ok && leave(),
      () => {},
    )
  }
  function onClick(event: MouseEvent) {
    const href = isSilent(store.status()) ? heldHrefOf(event, location.href) : undefined
    if (href === undefined) return
    // The link itself goes nowhere then; what else hears of the click still does.
    event.preventDefault()
    go(href)
  }

  return {
    go,
    follow(onLeave: (href: string) => void): () => void {
      push = onLeave
      const endStatus = store.subscribeStatus(() => {
        if (!isSilent(store.status())) leave()
      })
      document.addEventListener('click', onClick, true)
      return () => {
        endStatus()
        document.removeEventListener('click', onClick, true)
      }
    },
  }
}

function isSilent({ kind }: LiveStatus): boolean {
  return kind === 'stale' || kind === 'reconnecting'
}

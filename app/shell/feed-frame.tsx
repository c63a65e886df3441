'use client'

import type { ReactNode } from 'react'
import { formatSpan } from '../../components/format.ts'
import { Time } from '../../components/time.tsx'
import { useLive } from '../live/live-provider.tsx'
import { isStale } from '../live/live-status.ts'
import { useLiveStatus } from '../live/use-live.ts'
import { destinationOf } from './destinations.ts'
import { useHeldNavigation } from './held-navigation.tsx'

/** What a page shows, marked when it is no longer kept current: a line above says so, and its values grey. */
export function FeedFrame({ children }: { readonly children: ReactNode }) {
  const { held } = useHeldNavigation()
  const isFeedStale = useLiveStatus(isStale)
  return (
    <div data-feed={isFeedStale ? 'stale' : 'current'} className="flex min-h-0 flex-1 flex-col">
      {(isFeedStale || held !== undefined) && <StaleBanner held={held} />}
      {children}
    </div>
  )
}

function StaleBanner({ held }: { readonly held: string | undefined }) {
  const silentSeconds = useLiveStatus((status) => (status.kind === 'connecting' ? 0 : Math.floor(status.ageMs / 1000)))
  const isReconnecting = useLiveStatus(({ kind }) => kind === 'reconnecting')
  const { store } = useLive()
  return (
    <section aria-label="Age of the data" className="mx-4 mb-3 rounded-lg border border-stale/50 bg-stale/10 px-3.5 py-2 lg:mx-5.5">
      <b className="font-semibold">No news from Tidewatch for {formatSpan(silentSeconds * 1000)}.</b>{' '}
      <span className="text-ink">
        What you see is as of <Time at={store.lastNewsAt()} />; {isReconnecting ? 'connecting again, ' : ''}it is current again by itself as
        soon as the server answers.
      </span>{' '}
      <span role="status">{held !== undefined && `${destinationOf(pathOf(held))?.label ?? 'The page'} opens then, too.`}</span>
    </section>
  )
}

function pathOf(href: string): string {
  return href.split('?', 1)[0] ?? href
}

'use client'

import { useSyncExternalStore } from 'react'
import { formatMoment, formatUtc } from './format.ts'
import { useNow } from './now.tsx'

const never = () => () => {}

/**
 * A moment in the reader's own zone, with UTC on hover. The server does not know the zone, so it writes UTC and says so, and the
 * browser's first drawing is the same.
 */
export function Time({ at }: { readonly at: number }) {
  const isServers = useSyncExternalStore(
    never,
    () => false,
    () => true,
  )
  const now = useNow(60_000)
  return (
    <time dateTime={new Date(at).toISOString()} title={formatUtc(at)} className="whitespace-nowrap">
      {isServers ? `${formatMoment(at, { now, timeZone: 'UTC' })} UTC` : formatMoment(at, { now })}
    </time>
  )
}

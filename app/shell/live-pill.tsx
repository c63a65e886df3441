'use client'

import { formatAge } from '../../components/format.ts'
import type { LiveStatus } from '../live/live-status.ts'
import { useLiveStatus } from '../live/use-live.ts'

const words: Readonly<Record<LiveStatus['kind'], string>> = {
  connecting: 'Connecting',
  live: 'Live',
  stale: 'Stale',
  reconnecting: 'Reconnecting',
}

/** Whether the page is current, and how old what it shows is. Its state is told to screen readers when it changes; the age is not. */
export function LivePill() {
  const kind = useLiveStatus((status) => status.kind)
  const age = useLiveStatus(ageText)
  return (
    <div
      role="status"
      aria-label="Live data"
      className="flex items-center gap-1.5 rounded-full border border-line bg-panel px-2.5 py-1 whitespace-nowrap text-muted"
    >
      <Dot kind={kind} />
      <b className="font-semibold text-ink">{words[kind]}</b>
      {age !== '' && (
        <span aria-hidden>
          <span className="max-sm:hidden">{kind === 'live' ? '· data' : '·'}</span> {age}
          <span className="max-sm:hidden"> old</span>
        </span>
      )}
    </div>
  )
}

function ageText(status: LiveStatus): string {
  switch (status.kind) {
    case 'connecting':
      return ''
    case 'live':
    case 'stale':
    case 'reconnecting':
      return formatAge(status.ageMs)
  }
}

/** Filled, hollow, square: told apart without colour too. */
function Dot({ kind }: { readonly kind: LiveStatus['kind'] }) {
  return (
    <svg aria-hidden viewBox="0 0 8 8" className="size-2 shrink-0">
      {kind === 'live' ? (
        <circle cx="4" cy="4" r="4" className="fill-fresh" />
      ) : kind === 'stale' ? (
        <rect width="8" height="8" rx="1" className="fill-stale" />
      ) : (
        <circle cx="4" cy="4" r="3" className={`fill-none stroke-2 ${kind === 'connecting' ? 'stroke-off' : 'stroke-late'}`} />
      )}
    </svg>
  )
}

import { useId } from 'react'
import type { LinkLane, LinkStretch } from '../../server/model/link-row.ts'
import { laneBars, laneText } from './lane.ts'

const fills: Readonly<Record<Exclude<LinkLane, 'waiting'>, string>> = {
  live: 'fill-fresh',
  syncing: 'fill-accent',
  degraded: 'fill-stale',
  paused: 'fill-off',
}

/** How the last hour was: shapes of their own for waiting, so that hue alone says nothing. */
export function SwimLane({ history, now }: { readonly history: readonly LinkStretch[]; readonly now: number }) {
  const pattern = useId()
  return (
    <svg
      role="img"
      aria-label={laneText(history, now)}
      viewBox="0 0 100 12"
      preserveAspectRatio="none"
      className="h-3.5 w-full rounded-sm bg-line"
    >
      <defs>
        <pattern id={pattern} width="1.6" height="4" patternUnits="userSpaceOnUse" patternTransform="skewX(-20)">
          <rect width="0.8" height="4" className="fill-late" />
        </pattern>
      </defs>
      {laneBars(history, now).map(({ lane, from, width }) => (
        <rect
          key={`${from} ${lane}`}
          x={from}
          width={Math.max(width, 0.35)}
          y="0"
          height="12"
          {...(lane === 'waiting' ? { fill: `url(#${pattern})` } : { className: fills[lane] })}
        />
      ))}
    </svg>
  )
}

export function LaneLegend() {
  return (
    <ul aria-label="What the lanes show" className="flex flex-wrap gap-x-3 text-xs text-muted">
      {(['live', 'syncing', 'degraded', 'paused'] as const).map((lane) => (
        <li key={lane} className="inline-flex items-center gap-1">
          <svg aria-hidden viewBox="0 0 10 10" className="size-2.5">
            <rect width="10" height="10" rx="2" className={fills[lane]} />
          </svg>
          {lane}
        </li>
      ))}
      <li className="inline-flex items-center gap-1">
        <svg aria-hidden viewBox="0 0 10 10" className="size-2.5">
          <path d="M0 0h3L1 10H0zM5 0h3L6 10H3zM10 0v10H8z" className="fill-late" />
        </svg>
        waiting
      </li>
    </ul>
  )
}

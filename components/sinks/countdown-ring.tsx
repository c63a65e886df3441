import { formatAge } from '../format.ts'

export interface CountdownRingProps {
  /** Null: nothing is due. */
  readonly remainingMs: number | null
  readonly intervalMs: number
}

const RADIUS = 23
const LENGTH = 2 * Math.PI * RADIUS

/** Runs down to the next group of flushes. The words beside it say the same. */
export function CountdownRing({ remainingMs, intervalMs }: CountdownRingProps) {
  const share = remainingMs === null ? 0 : Math.min(1, remainingMs / Math.max(1, intervalMs))
  return (
    <svg aria-hidden viewBox="0 0 54 54" className="live-values size-13.5 shrink-0">
      <circle cx="27" cy="27" r={RADIUS} className="fill-none stroke-soft stroke-4" />
      <circle
        cx="27"
        cy="27"
        r={RADIUS}
        transform="rotate(-90 27 27)"
        strokeDasharray={LENGTH}
        strokeDashoffset={LENGTH * (1 - share)}
        strokeLinecap="round"
        className={`fill-none stroke-fresh stroke-4 transition-[stroke-dashoffset] duration-250 ease-linear ${share === 0 ? 'opacity-0' : ''}`}
      />
      <text x="27" y="31" textAnchor="middle" className="fill-ink text-[11px] font-semibold">
        {remainingMs === null ? '–' : formatAge(remainingMs).replace(/ s$/, '')}
      </text>
    </svg>
  )
}

import type { Freshness } from '../server/model/freshness.ts'

/** A level is told by shape as well as by hue: square, diamond, circle, and hollow or dashed where nothing can be told. */
export function FreshnessShape({ level }: { readonly level: Freshness }) {
  return (
    <svg aria-hidden viewBox="0 0 12 12" className="inline-block size-2.5 shrink-0">
      {shapes[level]}
    </svg>
  )
}

const shapes: Readonly<Record<Freshness, React.ReactNode>> = {
  fresh: <rect x="1.5" y="1.5" width="9" height="9" rx="2" className="fill-fresh" />,
  late: <path d="M6 0.5 11.5 6 6 11.5 0.5 6Z" className="fill-late" />,
  stale: <circle cx="6" cy="6" r="5" className="fill-stale" />,
  offline: <rect x="1.75" y="1.75" width="8.5" height="8.5" rx="2" className="fill-none stroke-off stroke-[1.5]" />,
  unknown: <circle cx="6" cy="6" r="4.5" className="fill-none stroke-off stroke-[1.5] [stroke-dasharray:2_2]" />,
}

export function FreshnessMark({ level }: { readonly level: Freshness }) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <FreshnessShape level={level} />
      {level}
    </span>
  )
}

import { tideLines } from './tide-geometry.ts'
import type { Freshness } from '../../server/model/freshness.ts'

const fills: Readonly<Record<Freshness, string>> = {
  fresh: 'bg-fresh',
  late: 'bg-late',
  stale: 'bg-stale',
  offline: 'bg-off',
  unknown: 'bg-off',
}

/** How far the tide has come in, against the lines where a row becomes late and stale. A picture of the age written beside it. */
export function TideBar({ percent, freshness }: { readonly percent: number; readonly freshness: Freshness }) {
  return (
    <span aria-hidden className="relative block h-2 min-w-12 flex-1 rounded-full bg-soft">
      <span className={`absolute inset-y-0 left-0 rounded-full opacity-70 ${fills[freshness]}`} style={{ width: `${percent}%` }} />
      {tideLines.map((line) => (
        <span key={line} className="absolute -inset-y-0.5 w-px bg-muted/60" style={{ left: `${line}%` }} />
      ))}
    </span>
  )
}

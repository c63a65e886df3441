/** The two hues of conflicts, in words beside their picture. */
export function SeverityLegend() {
  return (
    <span className="flex items-center gap-3">
      <span className="inline-flex items-center gap-1.5">
        <span aria-hidden className="size-2.5 rounded-xs bg-stale" /> harmful
      </span>
      <span className="inline-flex items-center gap-1.5">
        <span aria-hidden className="size-2.5 rounded-xs bg-benign" /> benign
      </span>
    </span>
  )
}

import { formatCount } from '../format.ts'

/** Writes in each of the last seconds, oldest first. */
export function ThroughputBars({ recentWrites }: { readonly recentWrites: readonly number[] }) {
  const highest = Math.max(1, ...recentWrites)
  const total = recentWrites.reduce((sum, count) => sum + count, 0)
  const width = 600 / Math.max(1, recentWrites.length)
  return (
    <svg
      role="img"
      aria-label={`${formatCount(total)} writes in the last ${recentWrites.length} seconds, at most ${formatCount(Math.max(0, ...recentWrites))} in one`}
      viewBox="0 0 600 40"
      preserveAspectRatio="none"
      className="my-2 h-9 w-full @min-[44rem]:h-16"
    >
      <line x1="0" x2="600" y1="39.5" y2="39.5" className="stroke-line [vector-effect:non-scaling-stroke]" />
      {recentWrites.map((count, index) => {
        const height = count === 0 ? 0 : Math.max(1.5, (38 * count) / highest)
        // Its place is its identity.
        return <rect key={index} x={index * width + 1} y={39 - height} width={width - 2} height={height} rx="1" className="fill-benign" />
      })}
    </svg>
  )
}

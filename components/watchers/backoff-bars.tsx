import { formatSpan } from '../format.ts'

export interface BackoffBarsProps {
  /** By attempt, until they no longer grow. */
  readonly waitsMs: readonly number[]
  /** The attempt that is waited for; undefined when none is. */
  readonly attempt: number | undefined
}

const SHOWN = 8

/** The waits of the policy, one bar an attempt; the present one stands out. */
export function BackoffBars({ waitsMs, attempt }: BackoffBarsProps) {
  const last = waitsMs.at(-1) ?? 0
  const waits = Array.from({ length: SHOWN }, (_, index) => waitsMs[index] ?? last)
  const longest = Math.max(1, ...waits)
  const present = attempt === undefined ? -1 : Math.min(attempt, SHOWN) - 1
  const label = `waits by attempt: ${waits.map((wait) => formatSpan(wait)).join(', ')}${attempt === undefined ? '' : `; now attempt ${attempt}`}`
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${SHOWN * 10} 20`} preserveAspectRatio="none" className="mt-1.5 h-12 w-full">
      {waits.map((wait, index) => {
        const height = Math.max(1, (20 * wait) / longest)
        const tone = index === present ? 'fill-late' : index < present ? 'fill-muted/50' : 'fill-soft'
        // oxlint-disable-next-line react/no-array-index-key -- an attempt is its number
        return <rect key={index} x={index * 10} width="8.8" y={20 - height} height={height} className={tone} />
      })}
    </svg>
  )
}

import type { LinkLane, LinkStretch } from '../../server/model/link-row.ts'

export interface LaneBar {
  readonly lane: LinkLane
  /** Percent of the hour, from the left. */
  readonly from: number
  readonly width: number
}

const HOUR_MS = 3_600_000

/** The last hour as bars, oldest at the left; what was before the link began is left free. */
export function laneBars(history: readonly LinkStretch[], now: number): readonly LaneBar[] {
  const start = now - HOUR_MS
  return history.flatMap(({ at, lane }, index) => {
    const from = Math.max(at, start)
    const to = Math.min(history[index + 1]?.at ?? now, now)
    return to <= from ? [] : [{ lane, from: (100 * (from - start)) / HOUR_MS, width: (100 * (to - from)) / HOUR_MS }]
  })
}

/** For who does not see it: how the hour was spent, longest first. */
export function laneText(history: readonly LinkStretch[], now: number): string {
  const spent = new Map<LinkLane, number>()
  for (const { lane, width } of laneBars(history, now)) spent.set(lane, (spent.get(lane) ?? 0) + width)
  const parts = [...spent]
    .toSorted(([, a], [, b]) => b - a)
    .map(([lane, percent]) => `${lane} ${percent < 1 ? 'under 1' : Math.round(percent)} %`)
  return parts.length === 0 ? 'nothing is known of the last hour' : `last hour: ${parts.join(', ')}`
}

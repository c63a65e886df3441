import type { ConflictPoint } from '../../server/model/views.ts'

export interface ConflictArea {
  /** Paths of a picture that is 600 wide and 100 high: harmful stands on benign. */
  readonly benign: string
  readonly harmful: string
  readonly highest: number
  readonly spanMs: number
  /** What one point counts. */
  readonly bucketMs: number
}

export const AREA_WIDTH = 600
export const AREA_HEIGHT = 100
/** A single conflict is not a mountain. */
const LEAST_SCALE = 4

export function conflictAreaOf(points: readonly ConflictPoint[]): ConflictArea {
  const highest = Math.max(0, ...points.map(({ benign, harmful }) => benign + harmful))
  const x = (index: number) => round((AREA_WIDTH * index) / Math.max(1, points.length - 1))
  const y = (count: number) => round(AREA_HEIGHT - (AREA_HEIGHT * count) / Math.max(LEAST_SCALE, highest))
  const line = (valueOf: (point: ConflictPoint) => number) => points.map((point, index) => `${x(index)},${y(valueOf(point))}`)
  const benignTop = line(({ benign }) => benign)
  const allTop = line(({ benign, harmful }) => benign + harmful)
  const bucketMs = points.length < 2 ? 0 : points[1]!.at - points[0]!.at
  const spanMs = points.length * bucketMs
  if (points.length === 0) return { benign: '', harmful: '', highest, spanMs, bucketMs }
  return {
    benign: `M0,${AREA_HEIGHT} L${benignTop.join(' L')} L${AREA_WIDTH},${AREA_HEIGHT} Z`,
    harmful: `M${benignTop.join(' L')} L${allTop.toReversed().join(' L')} Z`,
    highest,
    spanMs,
    bucketMs,
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

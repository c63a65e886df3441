import type { WriteRecord } from '../../server/model/views.ts'

export interface WriteMark {
  readonly write: WriteRecord
  /** 0 = the left end, 100 = now. */
  readonly percent: number
}
export interface WriteLane {
  /** The writer, with its instance where one writer wrote from several. */
  readonly label: string
  readonly marks: readonly WriteMark[]
}
export interface WriteLanes {
  /** How far back the left end is. */
  readonly windowMs: number
  readonly lanes: readonly WriteLane[]
}

const MINUTE = 60_000
const windows = [1, 5, 15, 60, 360, 1440, 10_080].map((minutes) => minutes * MINUTE)

/** Who wrote when, one lane a writer on one time axis: the shortest of some round windows that holds every write. */
export function writeLanesAt(writes: readonly WriteRecord[], now: number): WriteLanes {
  const oldestAgeMs = Math.max(0, ...writes.map(({ at }) => now - at))
  const windowMs = windows.find((window) => oldestAgeMs <= window) ?? oldestAgeMs
  const instancesOf = Map.groupBy(writes, ({ writer }) => writer)
  const isShared = (writer: string) => new Set(instancesOf.get(writer)?.map(({ instance }) => instance)).size > 1
  const byLane = Map.groupBy(writes, ({ writer, instance }) => (isShared(writer) ? `${writer} @ ${instance}` : writer))
  return {
    windowMs,
    lanes: [...byLane].map(([label, ofLane]) => ({
      label,
      marks: ofLane.map((write) => ({ write, percent: Math.min(100, Math.max(0, 100 - (100 * (now - write.at)) / windowMs)) })),
    })),
  }
}

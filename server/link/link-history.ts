import type { LinkLane, LinkStretch } from '../model/link-row.ts'

/** The swim-lane of the last hour, in bounded memory. Pure: times are epoch ms. */
export const HISTORY_MS = 3_600_000
/** More stretches could not be told apart on a screen. */
export const STRETCHES_KEPT = 48

/** The history after the link entered `lane`; the same one when it is in it already. */
export function addStretch(history: readonly LinkStretch[], lane: LinkLane, at: number): readonly LinkStretch[] {
  const last = history.at(-1)
  if (last?.lane === lane) return history
  // A clock that was set back: what was in the meantime did not last.
  const before = history.filter((stretch) => stretch.at < at)
  const added = before.at(-1)?.lane === lane ? before : [...before, { at, lane }]
  return added.length > STRETCHES_KEPT ? withoutShortest(added) : added
}

/** As drawn at `now`: what ended more than an hour ago is left out, what reaches into the hour keeps its beginning. */
export function lastHour(history: readonly LinkStretch[], now: number): readonly LinkStretch[] {
  const first = history.findLastIndex(({ at }) => at <= now - HISTORY_MS)
  return first > 0 ? history.slice(first) : history
}

/** Without the shortest that is over: the one before it lasts on, and two of one lane become one. */
function withoutShortest(history: readonly LinkStretch[]): readonly LinkStretch[] {
  let shortest = 1
  for (let index = 1; index < history.length - 1; index++) {
    if (lengthOf(history, index) < lengthOf(history, shortest)) shortest = index
  }
  const kept = history.filter((_, index) => index !== shortest)
  return kept.filter((stretch, index) => stretch.lane !== kept[index - 1]?.lane)
}

function lengthOf(history: readonly LinkStretch[], index: number): number {
  return history[index + 1]!.at - history[index]!.at
}

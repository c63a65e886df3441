import type { ChangeRow, SettingRow, SettingValue } from '../../server/model/views.ts'
import { formatExactSpan } from '../format.ts'
import { parseSpan } from '../parse-span.ts'
import type { SpanRange } from './slider-scale.ts'

/** The settings of a sink as they were read when its form was opened. */
export interface TuneBase {
  readonly interval: SettingRow
  /** Undefined where a sink has none. */
  readonly backoff: SettingRow | undefined
}

/** What stands in the form. */
export interface TuneDraft {
  readonly interval: string
  readonly isBackoffAuto: boolean
  readonly backoff: string
  readonly reason: string
}

export interface SettingEdit {
  readonly key: string
  readonly value: SettingValue
  readonly expectedVersion: string
  readonly reason?: string
}

/** What pressing Apply would do: nothing yet, because of what is wrong; or these edits, in this order. */
export type TunePlan =
  | { readonly kind: 'invalid'; readonly interval?: string; readonly backoff?: string }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'edits'; readonly edits: readonly SettingEdit[]; readonly intervalMs: number }

const AUTO = 'auto'

export function toDraft({ interval, backoff }: TuneBase): TuneDraft {
  const isBackoffAuto = backoff === undefined || backoff.value === AUTO
  return {
    interval: formatExactSpan(Number(interval.value)),
    isBackoffAuto,
    backoff: isBackoffAuto ? formatExactSpan(Number(interval.value) / 10) : formatExactSpan(Number(backoff?.value)),
    reason: '',
  }
}

export function tunePlanOf(base: TuneBase, draft: TuneDraft): TunePlan {
  const intervalMs = parseSpan(draft.interval)
  const backoff = draft.isBackoffAuto ? AUTO : parseSpan(draft.backoff)
  const wrongInterval = problemOf(intervalMs, base.interval.range)
  const wrongBackoff =
    backoff === AUTO
      ? undefined
      : (problemOf(backoff, base.backoff?.range ?? null) ??
        (backoff !== undefined && intervalMs !== undefined && backoff > intervalMs
          ? 'At most the interval: the pause is part of it.'
          : undefined))
  if (intervalMs === undefined || backoff === undefined || wrongInterval !== undefined || wrongBackoff !== undefined)
    return {
      kind: 'invalid',
      ...(wrongInterval !== undefined && { interval: wrongInterval }),
      ...(wrongBackoff !== undefined && { backoff: wrongBackoff }),
    }
  const reason = draft.reason.trim()
  const edit = ({ key, version }: SettingRow, value: SettingValue): SettingEdit => ({
    key,
    value,
    expectedVersion: version,
    ...(reason !== '' && { reason }),
  })
  const intervalEdits = intervalMs === base.interval.value ? [] : [edit(base.interval, intervalMs)]
  const backoffEdits = base.backoff === undefined || backoff === base.backoff.value ? [] : [edit(base.backoff, backoff)]
  // At no moment may the backoff be longer than the interval: what makes room for the other goes first.
  const edits = intervalMs >= Number(base.interval.value) ? [...intervalEdits, ...backoffEdits] : [...backoffEdits, ...intervalEdits]
  return edits.length === 0 ? { kind: 'unchanged' } : { kind: 'edits', edits, intervalMs }
}

/** The newest change of what the form edits that is not in what it was opened with. `changes`: newest first. */
export function changedSince({ interval, backoff }: TuneBase, changes: readonly ChangeRow[]): ChangeRow | undefined {
  const edited = backoff === undefined ? [interval] : [interval, backoff]
  const newest = edited.flatMap(({ key, version, modifiedAt }) => {
    const change = changes.find((each) => each.key === key)
    return change === undefined || change.version === version || change.at < (modifiedAt ?? 0) ? [] : [change]
  })
  return newest.toSorted((a, b) => b.at - a.at)[0]
}

/** `100 ms to 10 min`. */
export function rangeText({ min, max }: SpanRange): string {
  return `${formatExactSpan(min)} to ${formatExactSpan(max)}`
}

function problemOf(ms: number | undefined, range: SpanRange | null): string | undefined {
  if (ms === undefined) return 'A time is needed, like 4 s, 500 ms or 2 min.'
  if (range !== null && (ms < range.min || ms > range.max)) return `Allowed is ${rangeText(range)}.`
  return undefined
}

/** What does the same from a shell. */
export function toCurl(origin: string, { key, value, expectedVersion, reason }: SettingEdit): string {
  const body = JSON.stringify({ key, value, expectedVersion, ...(reason !== undefined && { reason }) }).replaceAll("'", String.raw`'\''`)
  return `curl -s ${origin}/api/trpc/settings.apply -H 'content-type: application/json' -d '${body}'`
}

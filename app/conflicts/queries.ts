import { type ConflictsView, spanMs } from './search-params.ts'

/** Insights listed as hot. */
export const HOT = 10
export const hotOrder = { sort: 'conflicts' } as const

export function matrixInput(span: ConflictsView['span']): { readonly sinceMs?: number } {
  const sinceMs = spanMs[span]
  return sinceMs === undefined ? {} : { sinceMs }
}

import type { InsightFilter, Key } from '../../server/model/views.ts'
import { toKeyString } from '../../server/model/resource.ts'

/** The order a view was opened with. It stays as it is until it is taken again, so that rows never jump under the pointer. */
export interface InsightOrder {
  readonly keys: readonly Key[]
  /** The board's revisions it was taken at. */
  readonly asOf: number
  readonly membersAsOf: number
}

/**
 * The page's first answer carries only the head of a long order. When the whole arrives, what is on screen keeps its place:
 * the head first, then the rest in the new order.
 */
export function joinOrder(head: readonly Key[], whole: InsightOrder): InsightOrder {
  if (head.every((key, index) => whole.keys[index] !== undefined && toKeyString(key) === toKeyString(whole.keys[index]))) return whole
  const shown = new Set(head.map(toKeyString))
  const present = new Set(whole.keys.map(toKeyString))
  return {
    ...whole,
    keys: [...head.filter((key) => present.has(toKeyString(key))), ...whole.keys.filter((key) => !shown.has(toKeyString(key)))],
  }
}

export interface OrderFacts {
  readonly filter: InsightFilter
  readonly order: InsightOrder
  /** From the live counters. */
  readonly revision: number
  readonly membersRevision: number
  readonly total: number
}

/** What taking the order again would bring: `added` where that can be told, else only that something moved. */
export type OrderNews = { readonly kind: 'added'; readonly count: number } | { readonly kind: 'moved' }

/** Undefined when the order on screen is still the present one, as far as the counters tell. */
export function orderNewsOf({ filter, order, revision, membersRevision, total }: OrderFacts): OrderNews | undefined {
  if (revision === order.asOf) return undefined
  const { sort, ...narrowing } = filter
  const isWhole = Object.values(narrowing).every((value) => value === undefined)
  const added = isWhole ? total - order.keys.length : 0
  if (added > 0) return { kind: 'added', count: added }
  // By name, and with nothing left out, only what comes or goes moves anything.
  return isWhole && sort === 'name' && membersRevision === order.membersAsOf ? undefined : { kind: 'moved' }
}

/** How long an untouched list waits before it takes its order again by itself: longer for long ones, whose order is megabytes. */
export function autoRefreshMs(rowCount: number): number {
  return Math.min(30_000, Math.max(3000, rowCount / 2))
}

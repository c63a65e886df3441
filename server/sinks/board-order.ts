import type { Clock } from '../lib/clock.ts'
import type { InsightSort } from '../model/views.ts'
import type { BoardEntry } from './board-entry.ts'

/**
 * Entries in each order that was asked for. An order is kept and sorted again in place when it is next asked for, at most
 * every so often: what moved since is little, and sorting what is nearly sorted is one pass over it.
 */
export interface BoardOrder {
  add(entry: BoardEntry): void
  /** By falling rank, equals by name. Entries that are gone may still be in it. */
  by(sort: InsightSort, rankOf: (entry: BoardEntry) => number): readonly BoardEntry[]
}

interface Kept {
  entries: BoardEntry[]
  sortedAt: number
}

/** Who asks meanwhile shares an order. */
const KEPT_MS = 250

export function createBoardOrder(clock: Pick<Clock, 'monotonic'>): BoardOrder {
  const orders = new Map<InsightSort, Kept>()
  /** By name, the order that the others begin with, so that sorting the equals of each again is one pass, too. */
  const all: BoardEntry[] = []
  let added = 0

  return {
    add(entry) {
      all.push(entry)
      added++
    },
    by(sort, rankOf) {
      const now = clock.monotonic()
      const known = orders.get(sort)
      if (known !== undefined && now - known.sortedAt < KEPT_MS && added === 0) return known.entries
      takeAdded()
      const order = orders.get(sort) ?? { entries: [...all], sortedAt: 0 }
      orders.set(sort, order)
      order.entries = order.entries.filter(({ isGone }) => !isGone)
      for (const entry of order.entries) entry.rank = rankOf(entry)
      order.entries.sort((a, b) => b.rank - a.rank || compareIds(a, b))
      order.sortedAt = now
      return order.entries
    },
  }

  /** New entries join every order; those that are gone leave the list that all begin with. */
  function takeAdded() {
    if (added === 0) return
    const news = all.slice(all.length - added)
    added = 0
    for (const order of orders.values()) order.entries.push(...news)
    const kept = all.filter(({ isGone }) => !isGone)
    kept.sort(compareIds)
    all.length = 0
    for (const entry of kept) all.push(entry)
  }
}

function compareIds(a: BoardEntry, b: BoardEntry): number {
  return a.id < b.id ? -1 : 1
}

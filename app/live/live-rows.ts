import { type KeyString, toKeyString } from '../../server/model/resource.ts'
import type { InsightRow, Key } from '../../server/model/views.ts'

/** What is known of one insight: its last row, and whether it has been removed since. */
export interface RowSlot {
  readonly row: InsightRow | undefined
  readonly isGone: boolean
}

/** One slot per row, each with its own listeners: a change of one row is told to nobody else. */
export interface LiveRows {
  get(key: Key): RowSlot | undefined
  has(key: Key): boolean
  put(rows: readonly InsightRow[]): void
  markGone(keys: readonly Key[]): void
  subscribe(key: Key, listener: () => void): () => void
  /** Slots held now. */
  size(): number
}

/** Some screens to scroll back through without asking again. */
const MAX_SLOTS = 5_000
const gone: RowSlot = { row: undefined, isGone: true }

export function createLiveRows(maxSlots = MAX_SLOTS): LiveRows {
  const slots = new Map<KeyString, RowSlot>()
  const listeners = new Map<KeyString, Set<() => void>>()

  function set(keyString: KeyString, slot: RowSlot) {
    // Put last: the ones longest untouched are forgotten first.
    slots.delete(keyString)
    slots.set(keyString, slot)
    const listening = listeners.get(keyString)
    if (listening !== undefined) for (const listener of listening) listener()
  }

  /** Never those on screen, however many they are. */
  function forgetOldest() {
    if (slots.size <= maxSlots) return
    for (const keyString of slots.keys()) {
      if (listeners.has(keyString)) continue
      slots.delete(keyString)
      if (slots.size <= maxSlots) return
    }
  }

  return {
    get: (key) => slots.get(toKeyString(key)),
    has: (key) => slots.has(toKeyString(key)),
    put(rows) {
      for (const row of rows) set(toKeyString(row.key), { row, isGone: false })
      forgetOldest()
    },
    markGone(keys) {
      for (const key of keys) {
        const keyString = toKeyString(key)
        const known = slots.get(keyString)
        if (known?.isGone !== true) set(keyString, known === undefined ? gone : { row: known.row, isGone: true })
      }
      forgetOldest()
    },
    subscribe(key, listener) {
      const keyString = toKeyString(key)
      const listening = listeners.get(keyString) ?? new Set()
      listeners.set(keyString, listening.add(listener))
      return () => {
        listening.delete(listener)
        if (listening.size === 0 && listeners.get(keyString) === listening) listeners.delete(keyString)
      }
    },
    size: () => slots.size,
  }
}

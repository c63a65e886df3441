import type { LostTo, ResourceKey } from '../model/resource.ts'
import type { ConflictCell, ConflictPoint, WriteRecord } from '../model/views.ts'

/**
 * Counts conflicts when their story ends: benign if the write was made later (by a retry or at the next tick), harmful if it
 * was given up or cost a stream. Keeps the last writes of each insight. The one place that knows who lost to whom.
 */
export interface ConflictLedger {
  /** A write of this resource was stored. Settles open conflicts of the same writer as benign. */
  written(record: {
    readonly key: ResourceKey
    readonly writer: string
    readonly instance: string
    readonly version: string
    readonly at: number
  }): void
  /** A write was refused; its story stays open until `written` or `gaveUp` by the same writer. */
  lost(record: {
    readonly key: ResourceKey
    readonly writer: string
    readonly instance: string
    readonly lostTo: LostTo | undefined
    readonly at: number
  }): void
  /** The writer will not write this any more: open conflicts become harmful. `reason` says what it cost. */
  gaveUp(record: { readonly key: ResourceKey; readonly writer: string; readonly at: number }): void
  /** The resource no longer exists or what is stored already says what was to be written: open conflicts of the writer become benign. */
  settled(record: { readonly key: ResourceKey; readonly writer: string; readonly at: number }): void
  forget(key: ResourceKey): void
  matrix(sinceMs?: number): readonly ConflictCell[]
  recent(): readonly ConflictPoint[]
  of(key: ResourceKey): { readonly benign: number; readonly harmful: number; readonly writes: readonly WriteRecord[] }
  /** Attempts a writer needed for a stored write: count per number of attempts. */
  readonly onSettled: (listener: (key: ResourceKey) => void, signal: AbortSignal) => void
}

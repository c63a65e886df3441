import type { FreshnessStrip, InsightFilter, InsightRow, InsightSummary } from '../model/views.ts'
import type { ResourceKey } from '../model/resource.ts'

/**
 * The read model: one row per insight, fed by the store's change feed and by the sinks, never by a scan per request. Reads
 * are in memory and cheap; an order of 50,000 rows is a copy of an index, not a sort.
 */
export interface InsightBoard {
  /** Keys in the order asked for; `asOf` is the revision it was taken at. */
  order(filter: InsightFilter): { readonly keys: readonly ResourceKey[]; readonly asOf: number }
  /** Rows of the keys that exist, in the order given. */
  rows(keys: readonly ResourceKey[]): readonly InsightRow[]
  summary(): InsightSummary
  strips(): readonly FreshnessStrip[]
  /** Insights whose peer rejects something now. */
  rejecting(): number
  total(): number
  revision(): number
  /** Called with the key of each row that changed, came or went (rows() then tells which). */
  onChange(listener: (key: ResourceKey) => void, signal: AbortSignal): void

  /** Feeds the change feed into the rows until aborted; first reads everything once. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when the first read is done. */
  ready(): Promise<void>
  /** From the sinks: the oldest change not yet stored of this insight (epoch ms), null when there is none. */
  setPending(key: ResourceKey, since: number | null): void
}

import { csvHeader, toCsvLine } from '../../components/insights/insight-csv.ts'
import type { InsightRow, Key } from '../../server/model/views.ts'
import { MAX_ROWS } from './row-fetcher.ts'

export interface ExportOptions {
  /** The order to export; rows that have gone since are left out. */
  readonly keys: readonly Key[]
  readonly fetchRows: (
    keys: readonly Key[],
    signal: AbortSignal,
  ) => Promise<{ readonly now: number; readonly items: readonly InsightRow[] }>
  readonly signal: AbortSignal
  /** Called with 0..1 as pages arrive. */
  readonly onProgress: (done: number) => void
}

/** The present order as CSV, page by page, each row judged at the moment its page was read. Rejects when a page fails or the signal aborts. */
export async function exportCsv({ keys, fetchRows, signal, onProgress }: ExportOptions): Promise<readonly string[]> {
  const parts = [csvHeader]
  for (let from = 0; from < keys.length; from += MAX_ROWS) {
    const { now, items } = await fetchRows(keys.slice(from, from + MAX_ROWS), signal)
    parts.push(items.map((row) => toCsvLine(row, now)).join(''))
    onProgress(Math.min(1, (from + MAX_ROWS) / keys.length))
  }
  return parts
}

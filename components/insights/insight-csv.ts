import { freshnessAt, latenessAt, pendingMsAt } from '../../server/model/freshness.ts'
import type { InsightRow } from '../../server/model/views.ts'

/** Ages are judged at `now`, moments are ISO 8601 in UTC, spans are milliseconds: what a spreadsheet or a script can sort. */
const columns: readonly (readonly [name: string, value: (row: InsightRow, now: number) => string | number])[] = [
  ['freshness', (row, now) => freshnessAt(row, now)],
  ['type', ({ key }) => key.type],
  ['mesh', ({ key }) => key.mesh],
  ['name', ({ key }) => key.name],
  ['online', ({ online }) => String(online)],
  ['offline_since', ({ offlineSince }) => moment(offlineSince)],
  ['pending_ms', (row, now) => (row.online ? pendingMsAt(row, now) : 0)],
  ['lateness', (row, now) => (row.online && row.heartbeatAt > 0 ? latenessAt(row, now).toFixed(2) : '')],
  ['cadence_ms', ({ cadenceMs }) => cadenceMs],
  ['heartbeat_at', ({ heartbeatAt }) => moment(heartbeatAt || null)],
  ['heartbeat_ms', ({ heartbeatMs }) => heartbeatMs],
  ['last_write_at', ({ modifiedAt }) => moment(modifiedAt || null)],
  ['writer', ({ writer }) => writer],
  ['version', ({ version }) => version],
  ['conflicts_harmful', ({ conflicts }) => conflicts.harmful],
  ['conflicts_benign', ({ conflicts }) => conflicts.benign],
  ['rejects', ({ nacked }) => nacked.join(' ')],
  ['complaints', ({ complaints }) => complaints.join(' ')],
  ['contenders', ({ contenders }) => contenders.join(' ')],
  ['seen_through', ({ source }) => source ?? ''],
]

export const csvHeader: string = csvLine(columns.map(([name]) => name))

export function toCsvLine(row: InsightRow, now: number): string {
  return csvLine(columns.map(([, value]) => value(row, now)))
}

export function csvLine(cells: readonly (string | number)[]): string {
  return cells.map(csvCell).join(',') + '\r\n'
}

/** RFC 4180. Names come from data planes, so text that a spreadsheet would run as a formula is made plain text. */
function csvCell(cell: string | number): string {
  if (typeof cell === 'number') return String(cell)
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function moment(at: number | null): string {
  return at === null ? '' : new Date(at).toISOString()
}

import type { LinkRow } from '../../server/model/link-row.ts'
import { csvLine } from '../insights/insight-csv.ts'
import { countsText, stateText } from './link-words.ts'

type Cell = string | number
const columns: readonly (readonly [name: string, value: (link: LinkRow, now: number) => Cell])[] = [
  ['id', ({ id }) => id],
  ['kind', ({ kind }) => kind],
  ['endpoint', ({ endpoint }) => endpoint],
  ['subject', ({ subject }) => subject],
  ['state', (link, now) => (link.state.kind === 'live' ? 'live' : stateText(link, now))],
  ['health', ({ health }) => health],
  ['error', ({ lastError, withoutSuccessSince }) => (withoutSuccessSince === null ? '' : (lastError?.class ?? ''))],
  ['error_message', ({ lastError, withoutSuccessSince }) => (withoutSuccessSince === null ? '' : (lastError?.message ?? ''))],
  ['last_event_at', ({ lastEventAt }) => (lastEventAt === null ? '' : new Date(lastEventAt).toISOString())],
  ['events_per_second', ({ eventsPerSecond }) => eventsPerSecond],
  ['event_lag_p99_ms', ({ eventLagMs }) => eventLagMs?.p99 ?? ''],
  ['objects', ({ objects }) => objects ?? ''],
  ['relists', ({ relists }) => countsText(relists) ?? ''],
  ['requests', ({ requests }) => countsText(requests) ?? ''],
]

/** What the table shows, for a spreadsheet or a script. */
export function linkCsv(links: readonly LinkRow[], now: number): string {
  return [csvLine(columns.map(([name]) => name)), ...links.map((link) => csvLine(columns.map(([, value]) => value(link, now))))].join('')
}

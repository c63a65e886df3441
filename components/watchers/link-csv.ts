import type { LinkRow } from '../../server/model/link-row.ts'
import { csvLine } from '../insights/insight-csv.ts'
import { countsText } from './link-words.ts'

type Cell = string | number
const columns: readonly (readonly [name: string, value: (link: LinkRow) => Cell])[] = [
  ['id', ({ id }) => id],
  ['kind', ({ kind }) => kind],
  ['endpoint', ({ endpoint }) => endpoint],
  ['subject', ({ subject }) => subject],
  ['state', ({ state }) => state.kind],
  ['state_since', ({ stateSince }) => moment(stateSince)],
  ['attempt', ({ state }) => state.attempt ?? ''],
  ['next_try_at', ({ state }) => moment(state.until ?? null)],
  ['waits_for_probe_of', ({ waitingFor }) => waitingFor?.endpoint ?? ''],
  ['paused_by', ({ pausedBy }) => pausedBy ?? ''],
  ['health', ({ health }) => health],
  ['error', ({ lastError, withoutSuccessSince }) => (withoutSuccessSince === null ? '' : (lastError?.class ?? ''))],
  ['error_message', ({ lastError, withoutSuccessSince }) => (withoutSuccessSince === null ? '' : (lastError?.message ?? ''))],
  ['last_event_at', ({ lastEventAt }) => moment(lastEventAt)],
  ['last_bookmark_at', ({ lastBookmarkAt }) => moment(lastBookmarkAt)],
  ['events_per_second', ({ eventsPerSecond }) => eventsPerSecond],
  ['event_lag_p99_ms', ({ eventLagMs }) => eventLagMs?.p99 ?? ''],
  ['objects', ({ objects }) => objects ?? ''],
  ['relists', ({ relists }) => countsText(relists) ?? ''],
  ['requests', ({ requests }) => countsText(requests) ?? ''],
]

/** What the table shows, for a spreadsheet or a script: moments are ISO 8601 in UTC. */
export function linkCsv(links: readonly LinkRow[]): string {
  return [csvLine(columns.map(([name]) => name)), ...links.map((link) => csvLine(columns.map(([, value]) => value(link))))].join('')
}

function moment(at: number | null): string {
  return at === null ? '' : new Date(at).toISOString()
}

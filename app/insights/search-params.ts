import {
  createLoader,
  createParser,
  type inferParserType,
  parseAsArrayOf,
  parseAsBoolean,
  parseAsString,
  parseAsStringLiteral,
} from 'nuqs/server'
import { freshnessLevels } from '../../server/model/freshness.ts'
import type { InsightFilter, InsightSort, Key } from '../../server/model/views.ts'
import { parseKeyParam, toKeyParam } from './insights-href.ts'

const insightSorts = ['worst', 'name', 'lastWrite', 'conflicts'] as const satisfies readonly InsightSort[]

const parseAsKey = createParser<Key>({
  parse: parseKeyParam,
  serialize: toKeyParam,
  eq: (a, b) => toKeyParam(a) === toKeyParam(b),
})

/** All of the page's view state: what is listed, in what order, and which insight is open beside it. */
export const insightsSearchParams = {
  q: parseAsString.withDefault(''),
  type: parseAsString,
  mesh: parseAsString,
  freshness: parseAsArrayOf(parseAsStringLiteral(freshnessLevels)).withDefault([]),
  rejecting: parseAsBoolean.withDefault(false),
  sort: parseAsStringLiteral(insightSorts).withDefault('worst'),
  key: parseAsKey,
}
export type InsightsView = inferParserType<typeof insightsSearchParams>

export const loadInsightsView = createLoader(insightsSearchParams)

/** What the view asks the server for. The same view always gives the same filter, so that one query key stands for it. */
export function toInsightFilter(view: InsightsView): InsightFilter {
  const q = view.q.trim()
  return {
    sort: view.sort,
    ...(q !== '' && { q }),
    ...(view.type !== null && { type: view.type }),
    ...(view.mesh !== null && { mesh: view.mesh }),
    ...(view.rejecting && { rejecting: true }),
    ...(view.freshness.length > 0 && { freshness: freshnessLevels.filter((level) => view.freshness.includes(level)) }),
  }
}

/** Whether anything narrows the list, so that an empty one can say how to get out of it. */
export function isNarrowed(view: InsightsView): boolean {
  return view.q.trim() !== '' || view.type !== null || view.mesh !== null || view.rejecting || view.freshness.length > 0
}

export const clearedFilters = { q: null, type: null, mesh: null, freshness: null, rejecting: null } as const

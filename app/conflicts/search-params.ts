import { type inferParserType, parseAsString, parseAsStringLiteral } from 'nuqs/server'

export const spans = ['5m', '1h', 'all'] as const

/** All of the page's view state: how far back it counts, and whose writes are shown. */
export const conflictsSearchParams = {
  span: parseAsStringLiteral(spans).withDefault('1h'),
  /** `type/mesh/name` of the insight whose writes are shown. */
  open: parseAsString,
}
export type ConflictsView = inferParserType<typeof conflictsSearchParams>

/** Undefined: all that is kept. */
export const spanMs: Readonly<Record<ConflictsView['span'], number | undefined>> = { '5m': 300_000, '1h': 3_600_000, all: undefined }

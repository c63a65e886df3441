import { steadyAge } from '../../components/insights/steady-age.ts'
import { formatCount } from '../../components/format.ts'
import { freshnessAt } from '../../server/model/freshness.ts'
import type { InsightRow } from '../../server/model/views.ts'

/** The texts of a row's cells by column, as `components/insights/columns.ts` names them. */
export type RowTexts = Readonly<Record<string, string>>

/** What the list says, and of which places: a long one draws only those in sight. */
export interface ShownRows {
  /** Of the whole list. */
  readonly total: number
  readonly rows: readonly { readonly place: number; readonly texts: RowTexts }[]
}

/** Where a page differs from the store, in words; `stored` is the whole list in the order of the page. */
export function differencesOf({ total, rows }: ShownRows, stored: readonly InsightRow[], now: number): readonly string[] {
  const differences = total === stored.length ? [] : [`${total} rows in all, stored ${stored.length}`]
  if (rows.length === 0) differences.push('no rows')
  for (const [index, { place, texts }] of rows.entries()) {
    const row = stored[index]
    if (place !== index + 1) return [...differences, `row ${index + 1} is missing`]
    if (row === undefined) return [...differences, `${texts.subject} is in row ${place}, stored are ${stored.length}`]
    // A page steps once a second.
    const around = [now - 1000, now + 1000].map((moment) => textsOf(row, moment))
    for (const [column, wanted] of Object.entries(textsOf(row, now)))
      if (texts[column] !== wanted && around.every((near) => texts[column] !== near[column]))
        differences.push(`${column} of row ${place} is "${texts[column]}", stored "${wanted}" (${row.key.name})`)
  }
  return differences
}

/** All but how long something waits, which no two looks agree on. When it was last written tells whether the page has the last version. */
function textsOf(row: InsightRow, now: number): RowTexts {
  const { harmful, benign } = row.conflicts
  return {
    freshness: freshnessAt(row, now),
    subject: row.subject.name,
    mesh: row.key.mesh,
    lastWrite: row.modifiedAt === 0 ? '–' : `${steadyAge(now - row.modifiedAt)} ago`,
    conflicts: harmful === 0 ? formatCount(benign) : `${formatCount(harmful)} / ${formatCount(benign)} harmful / benign`,
    rejects: row.nacked.join(' ') || '–',
    writer: row.writer || '–',
  }
}

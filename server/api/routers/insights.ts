import { z } from 'zod'
import type { InsightDetail, InsightRow, InsightSummary, Key } from '../../model/views.ts'
import { placesOf } from '../../model/observed-insight.ts'
import type { ControlPlane } from '../../runtime/control-plane.ts'
import { procedure, router } from '../init.ts'
import { filterSchema, keySchema, keysSchema, noInput } from '../input-schema.ts'
import { type InsightPage, insightDetail, insightPage } from '../insight-views.ts'

const listSchema = filterSchema.extend({
  cursor: z.string().max(1_000).optional(),
  limit: z.int().min(1).max(1_000).default(100),
})

export const insightsRouter = router({
  /** For scripts: a page of rows. Sorted by name unless asked otherwise, so that a row which moves is not met twice or missed. */
  list: procedure.input(listSchema.default({ limit: 100 })).query(({ ctx: { controlPlane }, input }): InsightPage => {
    const page = insightPage(controlPlane.board, input)
    lookAt(controlPlane, page.items)
    return { now: controlPlane.clock.now(), ...page }
  }),

  /** The whole order once per view; the page then asks for the rows on screen. */
  order: procedure
    .input(filterSchema.default({}))
    .query(({ ctx, input }): InsightOrder => ({ now: ctx.controlPlane.clock.now(), ...ctx.controlPlane.board.order(input) })),

  rows: procedure
    .input(z.strictObject({ keys: keysSchema }))
    .query(({ ctx: { controlPlane }, input }): { readonly now: number; readonly items: readonly InsightRow[] } => {
      const items = controlPlane.board.rows(input.keys)
      lookAt(controlPlane, items)
      return { now: controlPlane.clock.now(), items }
    }),

  get: procedure
    .input(z.strictObject({ key: keySchema }))
    .query(async ({ ctx: { controlPlane }, input }): Promise<{ readonly now: number } & InsightDetail> => {
      const detail = await insightDetail(controlPlane, input.key)
      lookAt(controlPlane, [detail.row])
      return detail
    }),

  summary: procedure
    .input(noInput)
    .query(({ ctx }): { readonly now: number } & InsightSummary =>
      Object.assign({ now: ctx.controlPlane.clock.now() }, ctx.controlPlane.board.summary()),
    ),
})

interface InsightOrder {
  readonly now: number
  readonly keys: readonly Key[]
  /** The board's revision the order was taken at; `counters.insightsRevision` beyond it means a newer order can be had. */
  readonly asOf: number
  /** The same of `counters.insightsMembersRevision`. */
  readonly membersAsOf: number
}

/** Who reads rows is looking at them, as a page is: what links read seldom is read often for a while. */
function lookAt({ attention }: ControlPlane, rows: readonly InsightRow[]): void {
  for (const [link, mesh] of placesOf(rows.map(({ key }) => key))) attention.touch(link, mesh)
}

import { z } from 'zod'
import type { InsightDetail, InsightRow, InsightSummary, Key } from '../../model/views.ts'
import { procedure, router } from '../init.ts'
import { filterSchema, keySchema, keysSchema, noInput } from '../input-schema.ts'
import { type InsightPage, insightDetail, insightPage } from '../insight-views.ts'

const listSchema = filterSchema.extend({
  cursor: z.string().max(1_000).optional(),
  limit: z.int().min(1).max(1_000).default(100),
})

export const insightsRouter = router({
  /** For scripts: a page of rows. Sorted by name unless asked otherwise, so that a row which moves is not met twice or missed. */
  list: procedure
    .input(listSchema.default({ limit: 100 }))
    .query(({ ctx, input }): InsightPage => ({ now: ctx.controlPlane.clock.now(), ...insightPage(ctx.controlPlane.board, input) })),

  /** The whole order once per view; the page then asks for the rows on screen. */
  order: procedure
    .input(filterSchema.default({}))
    .query(({ ctx, input }): InsightOrder => ({ now: ctx.controlPlane.clock.now(), ...ctx.controlPlane.board.order(input) })),

  rows: procedure
    .input(z.strictObject({ keys: keysSchema }))
    .query(({ ctx, input }): { readonly now: number; readonly items: readonly InsightRow[] } => ({
      now: ctx.controlPlane.clock.now(),
      items: ctx.controlPlane.board.rows(input.keys),
    })),

  get: procedure
    .input(z.strictObject({ key: keySchema }))
    .query(async ({ ctx, input }): Promise<{ readonly now: number } & InsightDetail> => insightDetail(ctx.controlPlane, input.key)),

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

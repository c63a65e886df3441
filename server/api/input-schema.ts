import { z } from 'zod'
import { freshnessLevels } from '../model/freshness.ts'
import type { InsightSort } from '../model/views.ts'

/** Rows one call or subscription may ask for: what fits on a screen, several times over. */
const MAX_KEYS = 200

const name = z.string().max(253)

export const keySchema = z.strictObject({
  type: name.min(1),
  /** '' or absent where the type has none. */
  mesh: name.default(''),
  name: name.min(1),
})

export const keysSchema = z
  .array(keySchema)
  .max(MAX_KEYS, { error: `at most ${MAX_KEYS} keys: ask for the rows on screen` })
  .readonly()

const level = z.enum(freshnessLevels)

export const filterSchema = z.strictObject({
  type: name.optional(),
  mesh: name.optional(),
  freshness: z
    .union([level, z.array(level).max(freshnessLevels.length).readonly()], {
      error: `one of ${freshnessLevels.join(', ')}, or a list of them`,
    })
    .transform((levels) => (typeof levels === 'string' ? [levels] : levels))
    .optional(),
  rejecting: z.boolean().optional(),
  q: z.string().max(200).optional(),
  sort: z.enum(['worst', 'name', 'lastWrite', 'conflicts'] satisfies readonly InsightSort[]).optional(),
})

export const noInput = z.strictObject({}).optional()

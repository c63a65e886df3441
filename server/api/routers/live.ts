import { z } from 'zod'
import { procedure } from '../init.ts'
import { keysSchema } from '../input-schema.ts'

const scopeSchema = z.strictObject({
  counters: z.union([z.boolean(), z.literal('glance')]).optional(),
  insights: keysSchema.optional(),
  links: z.boolean().optional(),
  /** Added by clients that resume: of no use here, for a subscription begins with a snapshot. */
  lastEventId: z.string().optional(),
})

/** What is on screen, kept current. Each (re)subscription begins with a snapshot, so that resuming needs no log of past deltas. */
export const live = procedure.input(scopeSchema.default({})).subscription(({ ctx, input, signal }) =>
  ctx.live.subscribe(input, {
    connection: ctx.caller.connection,
    bufferedAmount: () => ctx.caller.bufferedAmount(),
    signal,
  }),
)

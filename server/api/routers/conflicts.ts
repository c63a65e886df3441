import { z } from 'zod'
import { procedure, router } from '../init.ts'

const YEAR_MS = 366 * 24 * 3_600_000

export const conflictsRouter = router({
  /** `sinceMs`: only the last so many milliseconds; all that is kept without it. */
  matrix: procedure
    .input(z.strictObject({ sinceMs: z.int().min(1).max(YEAR_MS).optional() }).default({}))
    .query(({ ctx, input }) => ({ now: ctx.controlPlane.clock.now(), cells: ctx.controlPlane.conflicts.matrix(input.sinceMs) })),
})

import { toGlance } from '../../model/counters-glance.ts'
import { procedure, router } from '../init.ts'
import { noInput } from '../input-schema.ts'

export const overviewRouter = router({
  /** The live feed's counters, once: what a page shows before its subscription has begun. */
  counters: procedure.input(noInput).query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), counters: ctx.controlPlane.counters() })),
  /** The part of them that every page shows. */
  glance: procedure
    .input(noInput)
    .query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), glance: toGlance(ctx.controlPlane.counters()) })),
})

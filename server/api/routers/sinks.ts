import { procedure, router } from '../init.ts'
import { noInput } from '../input-schema.ts'

export const sinksRouter = router({
  list: procedure.input(noInput).query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), items: ctx.controlPlane.sinks() })),
})

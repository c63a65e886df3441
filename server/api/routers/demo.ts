import { z } from 'zod'
import { CoreError } from '../../lib/errors.ts'
import type { ControlPlane, DemoControls } from '../../runtime/control-plane.ts'
import { procedure, router } from '../init.ts'
import { noInput } from '../input-schema.ts'

export const demoRouter = router({
  list: procedure.input(noInput).query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), items: demoOf(ctx.controlPlane).list() })),

  set: procedure.input(z.strictObject({ name: z.string().min(1).max(100), active: z.boolean() })).mutation(async ({ ctx, input }) => {
    const demo = demoOf(ctx.controlPlane)
    await demo.set(input.name, input.active)
    return { now: ctx.controlPlane.clock.now(), items: demo.list() }
  }),
})

function demoOf({ demo }: ControlPlane): DemoControls {
  if (demo === undefined) throw new CoreError('not_found', 'the simulated fleet is there only when Tidewatch runs with --demo')
  return demo
}

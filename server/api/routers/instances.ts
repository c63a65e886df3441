import type { InstanceSelf } from '../../model/views.ts'
import { procedure, router } from '../init.ts'
import { noInput } from '../input-schema.ts'

export const instancesRouter = router({
  self: procedure.input(noInput).query(({ ctx }): InstanceSelf => ctx.controlPlane.self()),
})

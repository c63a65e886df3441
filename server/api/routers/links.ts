import { z } from 'zod'
import { procedure, router } from '../init.ts'
import { noInput } from '../input-schema.ts'

const id = z.string().min(1).max(200)
const one = z.strictObject({ id })

/** What steers a link says who did it, and answers with the link as it is then. */
export const linksRouter = router({
  list: procedure.input(noInput).query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), items: ctx.controlPlane.links.list() })),

  get: procedure.input(one).query(({ ctx, input }) => ({ now: ctx.controlPlane.clock.now(), ...ctx.controlPlane.links.get(input.id) })),

  retryNow: procedure.input(one).mutation(({ ctx, input }) => {
    ctx.controlPlane.links.retryNow(input.id, ctx.caller.name)
    return { now: ctx.controlPlane.clock.now(), ...ctx.controlPlane.links.get(input.id) }
  }),

  pause: procedure.input(one.extend({ reason: z.string().max(500).optional() })).mutation(({ ctx, input }) => {
    ctx.controlPlane.links.pause(input.id, ctx.caller.name, input.reason)
    return { now: ctx.controlPlane.clock.now(), ...ctx.controlPlane.links.get(input.id) }
  }),

  resume: procedure.input(one).mutation(({ ctx, input }) => {
    ctx.controlPlane.links.resume(input.id, ctx.caller.name)
    return { now: ctx.controlPlane.clock.now(), ...ctx.controlPlane.links.get(input.id) }
  }),
})

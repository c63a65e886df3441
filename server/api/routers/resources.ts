import { z } from 'zod'
import type { RestForm } from '../../model/rest-form.ts'
import { procedure } from '../init.ts'
import { keySchema } from '../input-schema.ts'

const name = z.string().min(1).max(253)
const expectedVersion = z.string().max(200).optional()

/** In Kuma's REST form; what the kind asks of the other fields is checked by the kind. */
const resourceSchema = z.looseObject({
  type: name,
  mesh: name.optional(),
  name,
  labels: z.record(z.string().max(253), z.string().max(1000)).optional(),
})

/** A plain record, as that of settings: `router()` refuses the name `apply`. */
export const resourcesProcedures = {
  list: procedure
    .input(
      z.strictObject({
        type: name,
        mesh: z.string().max(253).optional(),
        cursor: z.string().max(1_000).optional(),
        limit: z.int().min(1).max(1_000).default(100),
      }),
    )
    .query(async ({ ctx, input }) => ({ now: ctx.controlPlane.clock.now(), ...(await ctx.controlPlane.resources.list(input)) })),

  get: procedure
    .input(z.strictObject({ key: keySchema }))
    .query(async ({ ctx, input }) => ({ now: ctx.controlPlane.clock.now(), resource: await ctx.controlPlane.resources.get(input.key) })),

  apply: procedure.input(z.strictObject({ resource: resourceSchema, expectedVersion })).mutation(async ({ ctx, input }) => {
    const applied = await ctx.controlPlane.resources.apply(input.resource as RestForm, { expectedVersion: input.expectedVersion })
    const { type, mesh, name: named } = input.resource
    ctx.logger.info({ type, mesh, name: named, by: ctx.caller.name, outcome: applied.outcome }, 'resource applied')
    return { now: ctx.controlPlane.clock.now(), ...applied }
  }),

  delete: procedure.input(z.strictObject({ key: keySchema, expectedVersion })).mutation(async ({ ctx, input }) => {
    await ctx.controlPlane.resources.delete(input.key, { expectedVersion: input.expectedVersion })
    ctx.logger.info({ key: input.key, by: ctx.caller.name }, 'resource deleted')
    return { now: ctx.controlPlane.clock.now() }
  }),
}

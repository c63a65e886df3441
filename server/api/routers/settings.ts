import { z } from 'zod'
import { procedure } from '../init.ts'
import { noInput } from '../input-schema.ts'

const settingKey = z.string().min(1).max(200)

const applySchema = z.strictObject({
  key: settingKey,
  value: z.union([z.number(), z.string().max(200), z.boolean()], { error: 'a number, a word or true/false' }),
  /** The version `settings.list` gave: whoever changed it since is not overwritten. */
  expectedVersion: z.string({ error: 'the version settings.list gave ("0" while nobody changed it)' }).max(200),
  reason: z.string().max(500).optional(),
})

/**
 * A plain record: `router()` refuses the name `apply`, because its proxies give it Function's meaning where it comes last. For
 * clients it never does (`settings.apply.mutate`, `.mutationOptions`); an in-process caller must take the procedure itself.
 */
export const settingsProcedures = {
  list: procedure.input(noInput).query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), items: ctx.controlPlane.settings.list() })),

  apply: procedure.input(applySchema).mutation(async ({ ctx, input }) => {
    const applied = await ctx.controlPlane.settings.apply({ ...input, by: ctx.caller.name })
    return { now: ctx.controlPlane.clock.now(), ...applied }
  }),

  history: procedure
    .input(z.strictObject({ key: settingKey.optional(), limit: z.int().min(1).max(500).default(100) }).default({ limit: 100 }))
    .query(({ ctx, input: { key, limit } }) => ({
      now: ctx.controlPlane.clock.now(),
      items: ctx.controlPlane.settings.history(key === undefined ? { limit } : { key, limit }),
    })),
}

import { z } from 'zod'
import { CoreError } from '../../lib/errors.ts'
import type { SessionRegistry } from '../../discovery/session-registry.ts'
import type { SessionRow } from '../../model/views.ts'
import { procedure, router } from '../init.ts'
import { noInput } from '../input-schema.ts'

const id = z.string().min(1).max(500)

export const sessionsRouter = router({
  list: procedure.input(noInput).query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), items: ctx.controlPlane.sessions.list() })),

  /** Zones of attached control planes: read-only. */
  remote: procedure.input(noInput).query(({ ctx }) => ({ now: ctx.controlPlane.clock.now(), items: ctx.controlPlane.remoteZones() })),

  get: procedure
    .input(z.strictObject({ id }))
    .query(({ ctx, input }) => ({ now: ctx.controlPlane.clock.now(), ...sessionRow(ctx.controlPlane.sessions, input.id) })),

  resync: procedure.input(z.strictObject({ id, type: z.string().min(1).max(253).optional() })).mutation(({ ctx, input }) => {
    ctx.controlPlane.sessions.resync(input.id, input.type)
    return { now: ctx.controlPlane.clock.now(), ...sessionRow(ctx.controlPlane.sessions, input.id) }
  }),
})

function sessionRow(sessions: SessionRegistry, sessionId: string): SessionRow {
  const row = sessions.get(sessionId)
  if (row === undefined) throw new CoreError('not_found', `session ${sessionId} is not connected here`, { details: { id: sessionId } })
  return row
}

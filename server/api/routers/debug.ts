import { procedure, router } from '../init.ts'
import { noInput } from '../input-schema.ts'

export const debugRouter = router({
  /** Sizes of all that grows with sessions and readers: what a soak run compares before and after. */
  snapshot: procedure.input(noInput).query(({ ctx }) => {
    const { rss, heapUsed, external } = process.memoryUsage()
    return {
      now: ctx.controlPlane.clock.now(),
      memory: { rss, heapUsed, external },
      sizes: { ...ctx.controlPlane.debugSnapshot(), 'live.subscriptions': ctx.live.size() },
    }
  }),
})

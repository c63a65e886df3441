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
      /** What keeps the event loop busy, by Node's name for it: timers are `Timeout`. */
      resources: countsOf(process.getActiveResourcesInfo()),
    }
  }),
})

function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

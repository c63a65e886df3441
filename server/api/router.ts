import { router } from './init.ts'
import { conflictsRouter } from './routers/conflicts.ts'
import { debugRouter } from './routers/debug.ts'
import { demoRouter } from './routers/demo.ts'
import { insightsRouter } from './routers/insights.ts'
import { instancesRouter } from './routers/instances.ts'
import { live } from './routers/live.ts'
import { linksRouter } from './routers/links.ts'
import { overviewRouter } from './routers/overview.ts'
import { resourcesProcedures } from './routers/resources.ts'
import { sessionsRouter } from './routers/sessions.ts'
import { settingsProcedures } from './routers/settings.ts'
import { sinksRouter } from './routers/sinks.ts'

export const appRouter = router({
  overview: overviewRouter,
  insights: insightsRouter,
  sinks: sinksRouter,
  settings: settingsProcedures,
  sessions: sessionsRouter,
  resources: resourcesProcedures,
  links: linksRouter,
  conflicts: conflictsRouter,
  instances: instancesRouter,
  demo: demoRouter,
  debug: debugRouter,
  live,
})
export type AppRouter = typeof appRouter

/** All that the WebSocket serves: a socket answers whatever its router has, and a page needs one for `live` alone. */
export const socketRouter = router({ live })

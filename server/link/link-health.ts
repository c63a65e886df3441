import { assertNever } from '../lib/assert-never.ts'
import type { LinkErrorClass, LinkHealth, LinkLane, LinkStateKind } from '../model/link-row.ts'

export interface LinkHealthFacts {
  readonly state: LinkStateKind
  /** Monotonic; undefined while it is live, or has nothing to do. */
  readonly withoutSuccessSince: number | undefined
  /** Of the last failure since it was live; undefined when there was none. */
  readonly failedWith: LinkErrorClass | undefined
}

/** Somebody has to act: nothing heals by itself, so it shows at once. It is tried again all the same, for nobody tells us when it is done. */
const needsSomebody: ReadonlySet<LinkErrorClass> = new Set(['unauthorized', 'forbidden', 'not_found'])

/** `now` is monotonic. */
export function linkHealthAt(
  { state, withoutSuccessSince, failedWith }: LinkHealthFacts,
  now: number,
  unhealthyAfterMs: number,
): LinkHealth {
  if (state === 'paused') return 'paused'
  if (withoutSuccessSince === undefined) return 'healthy'
  if (failedWith !== undefined && needsSomebody.has(failedWith)) return 'degraded'
  return now - withoutSuccessSince >= unhealthyAfterMs ? 'unhealthy' : 'healthy'
}

/** What the swim-lane shows; undefined for states before and after its life. Tries are too short to be drawn apart from the waits between. */
export function laneOf({ state, failedWith }: LinkHealthFacts, health: LinkHealth): LinkLane | undefined {
  switch (state) {
    case 'idle':
    case 'stopped':
      return undefined
    case 'connecting':
      return health === 'degraded' ? 'degraded' : failedWith === undefined ? 'syncing' : 'waiting'
    case 'waiting':
      return health === 'degraded' ? 'degraded' : 'waiting'
    case 'syncing':
    case 'live':
    case 'paused':
      return state
    default:
      return assertNever(state)
  }
}

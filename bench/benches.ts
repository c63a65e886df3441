import { flushBench, freshnessBench, tuneBench } from './flush/flush.ts'
import type { Bench } from './harness.ts'
import { kdsBench } from './kds/kds.ts'
import { reflectorBench } from './kubernetes/reflector.ts'
import { herdGuardBench } from './link/herd-guard.ts'
import { callsBench } from './web/calls.ts'
import { feedBench } from './web/feed.ts'
import { firstLoadBench } from './web/first-load.ts'
import { scrollBench } from './web/scroll.ts'
import { connectBench } from './xds/connect.ts'
import { loadBench } from './xds/load.ts'
import { planesBench } from './xds/planes.ts'

/** All there are, in the order they run. */
export const benches: readonly Bench[] = [
  flushBench,
  freshnessBench,
  tuneBench,
  herdGuardBench,
  kdsBench,
  reflectorBench,
  feedBench,
  scrollBench,
  firstLoadBench,
  callsBench,
  connectBench,
  planesBench,
  loadBench,
]

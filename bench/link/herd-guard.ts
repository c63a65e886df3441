import type { Bench } from '../harness.ts'
import { exponentialPolicy, type LinkPolicy } from '../../server/link/link-policy.ts'
import { type Arm, type OutageResult, simulateOutage } from '../../server/link/testing/outage.ts'
import { plainPolicy, plainProbes } from '../../server/link/testing/scripted-connector.ts'

/** 100 watchers of one endpoint that is down for ten minutes: what they send meanwhile, and how soon all are live again. */
export interface HerdGuardPair {
  readonly id: string
  readonly title: string
  readonly unit: string
  /** At least so many times better. */
  readonly target: number
  /** One pair of figures per run, from the same outage. */
  readonly runs: readonly { readonly ours: number; readonly baseline: number }[]
}
export interface HerdGuardBench {
  readonly pairs: readonly HerdGuardPair[]
  /** Requests in the busiest second once the endpoint is back, by arm; the highest of all runs. */
  readonly peaks: Readonly<Record<string, number>>
}

const WATCHERS = 100
const DOWN_MS = 600_000
/** Where the waits stand when the endpoint is back is chance: each run ends at another moment. */
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9]
const SHIFT_MS = 1_237

const guarded: Arm = { policy: exponentialPolicy({ ...plainPolicy, jitter: true }), probes: plainProbes }
/** The probe may wait as long as watchers that each probe for themselves. */
const rare: Arm = { ...guarded, probes: { ...plainProbes, probeMaxMs: 30_000 } }
/** Each for itself, forgetting with the first success; the cap holds. */
const eachForItself = exponentialPolicy({ ...plainPolicy, jitter: true, resetAfterMs: 0 })
/** The same, spread as client-go and kube-rs do: up to twice as long, the cap too. */
const clientGo: LinkPolicy = { ...eachForItself, delayMs: (attempt, roll) => eachForItself.delayMs(attempt, 0.5) * (1 + roll) }
const noBackoff: LinkPolicy = { ...eachForItself, delayMs: () => 0 }
/** Without backoff a second says it all; a refusal that takes 10 ms is slow for one. */
const NO_BACKOFF = { downMs: 1_000, refusedMs: 10 }

async function benchHerdGuard(): Promise<HerdGuardBench> {
  const arms = new Map<string, OutageResult[]>()
  const add = async (name: string, arm: Arm, seed: number) => {
    const outage = { watchers: WATCHERS, downMs: DOWN_MS + seed * SHIFT_MS, seed, ...(name === 'no backoff' && NO_BACKOFF) }
    arms.getOrInsertComputed(name, () => []).push(await simulateOutage(arm, outage))
  }
  for (const seed of SEEDS) {
    await add('herd guard', guarded, seed)
    await add('herd guard, probes up to 30 s', rare, seed)
    await add('client-go', { policy: clientGo, probes: undefined }, seed)
    await add('each for itself', { policy: eachForItself, probes: undefined }, seed)
    await add('no backoff', { policy: noBackoff, probes: undefined }, seed)
  }
  const of = (name: string) => arms.get(name)!
  const pair = ([ours, baseline]: readonly [string, string], figure: (result: OutageResult, seed: number) => number) =>
    of(ours).map((result, index) => ({
      ours: figure(result, SEEDS[index]!),
      baseline:
        figure(of(baseline)[index]!, SEEDS[index]!) *
        (baseline === 'no backoff' ? (DOWN_MS + SEEDS[index]! * SHIFT_MS) / NO_BACKOFF.downMs : 1),
    }))
  const requests = ({ requestsWhileDown }: OutageResult) => requestsWhileDown
  const back = ({ allLiveAfterMs }: OutageResult) => allLiveAfterMs / 1_000

  return {
    pairs: [
      {
        id: 'link.herd.requests',
        title: 'Requests of 100 watchers to an endpoint that is down for 10 min, against client-go’s waits for each',
        unit: 'requests',
        target: 12,
        runs: pair(['herd guard', 'client-go'], requests),
      },
      {
        id: 'link.herd.recovery',
        title: 'From its recovery until all 100 are live, against client-go’s waits for each',
        unit: 's',
        target: 5,
        runs: pair(['herd guard', 'client-go'], back),
      },
      {
        id: 'link.herd.requests-30s',
        title: 'Requests with probes up to 30 s apart, against 0.8 s x2 up to 30 s for each',
        unit: 'requests',
        target: 90,
        runs: pair(['herd guard, probes up to 30 s', 'each for itself'], requests),
      },
      {
        id: 'link.herd.requests-no-backoff',
        title: 'Requests against watchers that retry at once (one second of it, times 600)',
        unit: 'requests',
        target: 1_000,
        runs: pair(['herd guard', 'no backoff'], requests),
      },
    ],
    peaks: Object.fromEntries(
      arms.entries().map(([name, results]) => [name, Math.max(...results.map((result) => result.peakRequestsPerSecond))]),
    ),
  }
}

export const herdGuardBench: Bench = {
  name: 'herd-guard',
  async run() {
    const { pairs } = await benchHerdGuard()
    return pairs
  },
}

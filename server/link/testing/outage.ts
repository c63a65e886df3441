import { createFakeClock } from '../../lib/fake-clock.ts'
import { createTunable } from '../../lib/tunable.ts'
import type { Connector } from '../connector.ts'
import { gatePolicy, type ProbeValues } from '../endpoint-gate.ts'
import { LinkFailure } from '../link-failure.ts'
import type { LinkPolicy } from '../link-policy.ts'
import { createLinkRegistry } from '../link-registry.ts'
import type { LinkPolicyRow } from '../../model/link-row.ts'
import { plainProbes, silentLog, silentObserver } from './scripted-connector.ts'

/** How watchers of one endpoint behave while it is down, and when it is back: the real links on a clock that is moved by hand. */
export interface Arm {
  readonly policy: LinkPolicy
  /** Undefined: each watcher for itself, without a herd guard. */
  readonly probes: ProbeValues | undefined
}

export interface Outage {
  readonly watchers: number
  /** How long the endpoint is down. Where the waits stand when it is back is chance: measure several. */
  readonly downMs: number
  readonly seed: number
  /** How long a refusal takes. Default 1 ms. */
  readonly refusedMs?: number
}

export interface OutageResult {
  /** Sent while nothing answered. */
  readonly requestsWhileDown: number
  /** From the moment the endpoint is back until the last watcher is live. */
  readonly allLiveAfterMs: number
  /** The most requests in any second from that moment on. */
  readonly peakRequestsPerSecond: number
}

const LIST_MS = 50
const STEP_MS = 100
const GIVE_UP_AFTER_MS = 600_000

export async function simulateOutage({ policy, probes }: Arm, { watchers, downMs, seed, refusedMs = 1 }: Outage): Promise<OutageResult> {
  const clock = createFakeClock()
  const random = seededRandom(seed)
  const requests: number[] = []
  let isUp = true
  let broken = Promise.withResolvers<never>()
  broken.promise.catch(() => undefined)
  const down = (message: string) => new LinkFailure('network', message, { endpointDown: probes !== undefined })

  async function request(signal: AbortSignal): Promise<void> {
    requests.push(clock.monotonic())
    if (!isUp) {
      await clock.sleep(refusedMs, signal)
      throw down('connect ECONNREFUSED')
    }
  }

  const connector: Connector = {
    async connect(attempt) {
      const end = probes === undefined ? () => {} : await attempt.listTurn()
      try {
        await request(attempt.signal)
        await Promise.race([clock.sleep(LIST_MS, attempt.signal), broken.promise])
      } finally {
        end()
      }
      attempt.syncing()
      await request(attempt.signal)
      attempt.live()
      const aborted = Promise.withResolvers<never>()
      attempt.signal.addEventListener('abort', () => aborted.reject(attempt.signal.reason), { once: true })
      await Promise.race([broken.promise, aborted.promise])
    },
  }

  const links = createLinkRegistry({
    clock,
    random,
    log: silentLog,
    observer: silentObserver,
    tuningOf: () => ({ policy: createTunable(policy), row: () => ({}) as LinkPolicyRow }),
    gatePolicy: createTunable(gatePolicy(probes ?? plainProbes)),
  })
  for (let index = 0; index < watchers; index++) {
    links.add({ id: `w${index}`, kind: 'watch', endpoint: 'https://api.test:6443', subject: 'v1 Pod', connector })
  }
  const stopping = new AbortController()
  const done = links.run(stopping.signal)
  await clock.advance(300_000)

  isUp = false
  const brokenAt = clock.monotonic()
  broken.reject(down('socket hang up'))
  await clock.advance(downMs)
  isUp = true
  const backAt = clock.monotonic()
  broken = Promise.withResolvers<never>()
  broken.promise.catch(() => undefined)
  while (links.counts().byState.live < watchers && clock.monotonic() - backAt < GIVE_UP_AFTER_MS) await clock.advance(STEP_MS)
  const allLiveAfterMs = clock.monotonic() - backAt
  stopping.abort()
  await clock.advance(2_000)
  await done
  return {
    requestsWhileDown: requests.filter((at) => at >= brokenAt && at < backAt).length,
    allLiveAfterMs,
    peakRequestsPerSecond: peakPerSecond(requests.filter((at) => at >= backAt)),
  }
}

function peakPerSecond(times: readonly number[]): number {
  let first = 0
  let peak = 0
  for (const [last, at] of times.entries()) {
    while (at - times[first]! >= 1_000) first++
    peak = Math.max(peak, last - first + 1)
  }
  return peak
}

/** mulberry32: the same chances in every arm. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

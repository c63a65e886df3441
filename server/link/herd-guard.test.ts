import { describe, expect, it } from 'vitest'
import { exponentialPolicy, type LinkPolicy } from './link-policy.ts'
import { type Arm, simulateOutage } from './testing/outage.ts'
import { plainPolicy, plainProbes } from './testing/scripted-connector.ts'

const OUTAGE = { watchers: 100, downMs: 600_000, seed: 7 }
const guarded: Arm = { policy: exponentialPolicy({ ...plainPolicy, jitter: true }), probes: plainProbes }
const rare: Arm = { ...guarded, probes: { ...plainProbes, probeMaxMs: 30_000 } }
/** Each watcher for itself: 0.8 s, twice that each time, 30 s at most, forgotten with the first success. */
const eachForItself = exponentialPolicy({ ...plainPolicy, jitter: true, resetAfterMs: 0 })
/** As client-go spreads it: up to twice as long, the cap too. */
const clientGo: LinkPolicy = { ...eachForItself, delayMs: (attempt, roll) => eachForItself.delayMs(attempt, 0.5) * (1 + roll) }

describe('100 watchers of an endpoint that is down for ten minutes', () => {
  it('send fewer requests by far than each for itself, and are back sooner', async () => {
    const ours = await simulateOutage(guarded, OUTAGE)
    expect(ours.requestsWhileDown).toBe(123)
    expect(ours.allLiveAfterMs).toBeLessThan(7_000)
    // A list and a watch each, at 100 links a second.
    expect(ours.peakRequestsPerSecond).toBeLessThanOrEqual(210)
    const theirs = await simulateOutage({ policy: clientGo, probes: undefined }, OUTAGE)
    expect(theirs.requestsWhileDown / ours.requestsWhileDown).toBeGreaterThan(12)
    expect(theirs.allLiveAfterMs / ours.allLiveAfterMs).toBeGreaterThan(5)
  })

  it('send hardly any when the probe may wait as long as they would', async () => {
    const ours = await simulateOutage(rare, OUTAGE)
    const theirs = await simulateOutage({ policy: eachForItself, probes: undefined }, OUTAGE)
    expect(ours.requestsWhileDown).toBe(27)
    expect(theirs.requestsWhileDown / ours.requestsWhileDown).toBeGreaterThan(90)
  })
})

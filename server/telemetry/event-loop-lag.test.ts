import { expect, it } from 'vitest'
import type { Clock } from '../lib/clock.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createEventLoopLag } from './event-loop-lag.ts'

it('says how late timers ran in the last 10 s, and leaves none behind', async () => {
  const clock = createFakeClock()
  let lateMs = 0
  const samples: number[] = []
  // A loop that is held up wakes its sleepers that much later.
  const late: Pick<Clock, 'monotonic' | 'sleep'> = {
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms + lateMs, signal),
  }
  const lag = createEventLoopLag(late, (seconds) => samples.push(seconds))
  const ending = new AbortController()
  const running = lag.run(ending.signal)
  await clock.advance(1_000)
  expect(samples).toHaveLength(50)
  expect(lag.read()).toEqual({ p50: 0, p99: 0 })
  lateMs = 80
  await clock.advance(10_000)
  // Above 12.8 ms the histogram is exact to 1.6 %.
  expect(lag.read().p50).toBeCloseTo(80, 0)
  expect(lag.read().p99).toBeCloseTo(80, 0)
  expect(samples.at(-1)).toBeCloseTo(0.08)
  lateMs = 0
  await clock.advance(20_000)
  expect(lag.read()).toEqual({ p50: 0, p99: 0 })
  ending.abort()
  await running
  expect(clock.pending()).toBe(0)
})

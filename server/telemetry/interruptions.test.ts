import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createInterruptions, interruptionBetween } from './interruptions.ts'

const start = { wall: 1_000_000, monotonic: 0, cpuMs: 0 }

describe('what interrupted the process', () => {
  it.each([
    ['nothing, when it is half a second later', { wall: 1_000_500, monotonic: 500, cpuMs: 500 }, null],
    ['nothing, when the loop is a little late', { wall: 1_002_499, monotonic: 2_499, cpuMs: 0 }, null],
    ['a stop, when it did not run', { wall: 1_006_500, monotonic: 6_500, cpuMs: 20 }, { kind: 'stopped', endedAt: 1_006_500, ms: 6_000 }],
    ['a block, when it computed', { wall: 1_006_500, monotonic: 6_500, cpuMs: 6_100 }, { kind: 'blocked', endedAt: 1_006_500, ms: 6_000 }],
    ['a clock set forward', { wall: 4_600_500, monotonic: 500, cpuMs: 5 }, { kind: 'clock_set', endedAt: 4_600_500, ms: 3_600_000 }],
    ['a clock set back', { wall: -2_599_500, monotonic: 500, cpuMs: 5 }, { kind: 'clock_set', endedAt: -2_599_500, ms: -3_600_000 }],
    ['nothing, when the clock is steered', { wall: 1_001_500, monotonic: 500, cpuMs: 5 }, null],
  ])('is %s', (_, after, expected) => {
    expect(interruptionBetween(start, after)).toEqual(expected)
  })

  it('is told for a minute', async () => {
    const clock = createFakeClock()
    const ending = new AbortController()
    const interruptions = createInterruptions({ clock, cpuMs: () => 0 })
    const running = interruptions.run(ending.signal)
    await clock.advance(1_000)
    expect(interruptions.recent()).toBeNull()
    clock.jump(3_600_000)
    await clock.advance(500)
    expect(interruptions.recent()).toEqual({ kind: 'clock_set', endedAt: clock.now(), ms: 3_600_000 })
    await clock.advance(59_999)
    expect(interruptions.recent()).not.toBeNull()
    await clock.advance(1)
    expect(interruptions.recent()).toBeNull()
    ending.abort()
    await running
    expect(clock.pending()).toBe(0)
  })
})

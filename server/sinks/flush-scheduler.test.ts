import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import { createFlushScheduler, type FlushItem, type FlushSchedulerOptions, type TempoPart } from './flush-scheduler.ts'
import type { FlushOutcome } from './flush-state.ts'

interface Attempt {
  readonly key: string
  readonly startedAt: number
  endedAt: number
  readonly isHeartbeatDue: boolean
}

/** A scheduler over a store that takes `storeMs` for each group and answers `outcomeOf`. */
function start(options: { intervalMs?: number; backoff?: number | string; idleTimeoutMs?: number } & FlushSchedulerOptions = {}) {
  const clock = createFakeClock()
  const intervalMs = createTunable(options.intervalMs ?? 10_000)
  const backoffMs = createTunable<number | string>(options.backoff ?? 'auto')
  const idleTimeoutMs = createTunable(options.idleTimeoutMs ?? 3_600_000)
  const attempts: Attempt[] = []
  const groups: string[][] = []
  const effects: { part: TempoPart; at: number; afterMs: number; sessions: number }[] = []
  const faults: unknown[] = []
  const underWay = new Set<string>()
  const control = {
    storeMs: 0,
    outcomeOf: (_item: FlushItem<string>): FlushOutcome => 'settled',
    duringGroup: () => {},
  }
  const scheduler = createFlushScheduler<string>(
    {
      clock,
      intervalMs,
      backoffMs,
      idleTimeoutMs,
      async flushGroup(group, signal) {
        const startedAt = clock.monotonic()
        groups.push(group.map(({ key }) => key))
        const begun = group.map(({ key, isHeartbeatDue }): Attempt => {
          expect(underWay.has(key), `two flushes of ${key} at a time`).toBe(false)
          underWay.add(key)
          return { key, startedAt, endedAt: Number.NaN, isHeartbeatDue }
        })
        attempts.push(...begun)
        control.duringGroup()
        if (control.storeMs > 0) await clock.sleep(control.storeMs, signal)
        for (const attempt of begun) {
          attempt.endedAt = clock.monotonic()
          underWay.delete(attempt.key)
        }
        return group.map(control.outcomeOf)
      },
      onInEffect: (part, effect) => effects.push({ part, at: clock.monotonic(), ...effect }),
      onFault: (error) => faults.push(error),
    },
    options,
  )
  const stopping = new AbortController()
  const done = scheduler.run(stopping.signal)
  return {
    clock,
    intervalMs,
    backoffMs,
    idleTimeoutMs,
    scheduler,
    attempts,
    groups,
    effects,
    faults,
    control,
    startsOf: (key: string) => attempts.filter((attempt) => attempt.key === key).map(({ startedAt }) => startedAt),
    /** Changes the key every `everyMs` for `ms`. */
    async busy(key: string, ms: number, everyMs: number) {
      for (let elapsed = 0; elapsed < ms; elapsed += everyMs) {
        scheduler.changed(key)
        await clock.advance(everyMs)
      }
    },
    async stop() {
      stopping.abort()
      await done
    },
  }
}

let run: ReturnType<typeof start>
let clock: FakeClock
const begin = (options?: Parameters<typeof start>[0]) => {
  run = start(options)
  ;({ clock } = run)
}

beforeEach(() => begin())
afterEach(() => end())

async function end() {
  await run.stop()
  expect(run.faults).toEqual([])
  expect(clock.pending()).toBe(0)
}

describe('due times', () => {
  it('flushes a new key at once', async () => {
    run.scheduler.urge('a')
    await clock.advance(0)
    expect(run.startsOf('a')).toEqual([0])
  })

  it('flushes a quiet key within the batch window and a busy one once per interval, without drift', async () => {
    run.scheduler.urge('a')
    await clock.advance(60_000)
    await run.busy('a', 100_000, 100)
    const starts = run.startsOf('a')
    expect(starts.slice(0, 4)).toEqual([0, 60_050, 70_050, 80_050])
    expect(starts).toHaveLength(11)
  })

  it('keeps the rhythm of the starts when the store takes its time', async () => {
    run.control.storeMs = 3_000
    run.scheduler.urge('a')
    await run.busy('a', 50_000, 50)
    expect(run.startsOf('a')).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000])
    await clock.advance(3_000)
  })

  it('folds missed ticks into one and gives a store slower than the interval air', async () => {
    await end()
    begin({ intervalMs: 100 })
    run.control.storeMs = 250
    run.scheduler.urge('a')
    await run.busy('a', 1_000, 25)
    expect(run.startsOf('a')).toEqual([0, 260, 520, 780])
    await clock.advance(1_000)
  })

  it('lets the store rest for the backoff after a round that took longer than the interval, and still takes new keys at once', async () => {
    await end()
    begin({ intervalMs: 1_000, groupSize: 1, groupsAtATime: 2 })
    for (const key of ['a', 'b', 'c', 'd']) run.scheduler.urge(key)
    await clock.advance(0)
    await clock.advance(0)
    run.control.storeMs = 600
    for (const key of ['a', 'b', 'c', 'd']) run.scheduler.changed(key)
    await clock.advance(2_200)
    for (const key of ['a', 'b', 'c', 'd']) run.scheduler.changed(key)
    expect(run.attempts.slice(4).map(({ key, startedAt }) => `${key} ${startedAt}`)).toEqual(['a 1000', 'b 1000', 'c 1600', 'd 1600'])
    run.scheduler.urge('new')
    await clock.advance(99)
    expect(run.attempts.slice(8).map(({ key, startedAt }) => `${key} ${startedAt}`)).toEqual(['new 2200'])
    await clock.advance(1)
    expect(run.attempts.slice(9, 10).map(({ key, startedAt }) => `${key} ${startedAt}`)).toEqual(['a 2300'])
    await clock.advance(10_000)
  })

  it('tries what was kept at the next tick, and no sooner', async () => {
    run.scheduler.urge('a')
    await clock.advance(20_000)
    run.control.outcomeOf = () => 'kept'
    run.scheduler.changed('a')
    await clock.advance(25_000)
    run.control.outcomeOf = () => 'settled'
    await clock.advance(60_000)
    expect(run.startsOf('a')).toEqual([0, 20_050, 30_050, 40_050, 50_050])
  })

  it('tries a first flush again after the wait it was told, whatever the interval', async () => {
    const outcomes: FlushOutcome[] = [{ againInMs: 200 }, { againInMs: 400 }, 'settled']
    run.control.outcomeOf = () => outcomes.shift() ?? 'settled'
    run.scheduler.urge('a')
    await clock.advance(30_000)
    expect(run.startsOf('a')).toEqual([0, 200, 600])
  })

  it('is not moved by jumps of the wall clock', async () => {
    run.scheduler.urge('a')
    await clock.advance(0)
    run.scheduler.changed('a')
    clock.jump(3_600_000)
    await clock.advance(9_999)
    expect(run.startsOf('a')).toEqual([0])
    await clock.advance(1)
    expect(run.startsOf('a')).toEqual([0, 10_000])
    run.scheduler.changed('a')
    clock.jump(-10 * 365 * 86_400_000)
    await clock.advance(10_000)
    expect(run.startsOf('a')).toEqual([0, 10_000, 20_000])
  })

  it('never flushes a key twice at a time, also when it leaves and comes back during a flush', async () => {
    run.control.storeMs = 500
    run.scheduler.urge('a')
    await clock.advance(100)
    run.scheduler.remove('a')
    run.scheduler.urge('a')
    run.scheduler.changed('a')
    await clock.advance(1_000)
    expect(run.startsOf('a')).toEqual([0, 500])
    expect(run.scheduler.size()).toBe(1)
  })

  it('forgets a removed key when its flush ends', async () => {
    run.control.storeMs = 500
    run.scheduler.urge('a')
    await clock.advance(100)
    run.scheduler.remove('a')
    await clock.advance(500)
    expect(run.scheduler.size()).toBe(0)
    expect(run.scheduler.earliestDueAt()).toBeUndefined()
  })
})

describe('groups', () => {
  it('commits what is due in groups sorted by key, first flushes before ticks', async () => {
    await end()
    begin({ groupSize: 2 })
    for (const key of ['e', 'c', 'a', 'd', 'b']) run.scheduler.urge(key)
    await clock.advance(1)
    await clock.advance(0)
    expect(run.groups.map((group) => group.length)).toEqual([2, 2, 1])
    for (const group of run.groups) expect(group).toEqual(group.toSorted())
    run.groups.length = 0
    for (const key of ['e', 'c', 'a', 'd', 'b']) run.scheduler.changed(key)
    run.control.duringGroup = () => {
      if (run.groups.length === 1) run.scheduler.urge('z')
    }
    await clock.advance(20_000)
    expect(run.groups).toEqual([['a', 'b'], ['z'], ['c', 'd'], ['e']])
  })

  it('arms one timer for 10,000 keys', async () => {
    for (let index = 0; index < 10_000; index++) run.scheduler.urge(`key-${index}`)
    expect(clock.pending()).toBe(1)
    for (let turn = 0; turn < 80; turn++) await clock.advance(0)
    expect(run.attempts).toHaveLength(10_000)
    expect(run.groups).toHaveLength(80)
    expect(clock.pending()).toBe(1)
  })

  it('keeps every item of a group for its next tick when the group fails as a whole', async () => {
    run.scheduler.urge('a')
    await clock.advance(20_000)
    run.control.duringGroup = () => {
      throw new Error('bug')
    }
    run.scheduler.changed('a')
    await clock.advance(100)
    expect(run.faults.splice(0)).toHaveLength(1)
    run.control.duringGroup = () => {
      for (const attempt of run.attempts) expect(attempt.key).toBe('a')
    }
  })
})

describe('retuning', () => {
  it('shortens from 10 s to 1 s: due at once by the new interval, the old timer never fires', async () => {
    run.scheduler.urge('a')
    await clock.advance(0)
    run.scheduler.changed('a')
    await clock.advance(4_000)
    run.intervalMs.set(1_000)
    expect(clock.pending()).toBe(1)
    await run.busy('a', 8_000, 100)
    expect(run.startsOf('a')).toEqual([0, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 11_000, 12_000])
  })

  it('shortens from 6,000 s to 5 s: flushed within 5 s of the change', async () => {
    await end()
    begin({ intervalMs: 600_000, idleTimeoutMs: 3_600_000 })
    run.scheduler.urge('a')
    await clock.advance(0)
    run.scheduler.changed('a')
    await clock.advance(2_000)
    run.intervalMs.set(5_000)
    await clock.advance(3_000)
    expect(run.startsOf('a')).toEqual([0, 5_000])
    expect(run.effects).toEqual([{ part: 'interval', at: 5_000, afterMs: 3_000, sessions: 1 }])
  })

  it('lengthens from 1 s to 10 s: no attempt at a time computed from the old interval', async () => {
    await end()
    begin({ intervalMs: 1_000 })
    run.scheduler.urge('a')
    await clock.advance(0)
    run.scheduler.changed('a')
    await clock.advance(999)
    run.intervalMs.set(10_000)
    await clock.advance(9_000)
    expect(run.startsOf('a')).toEqual([0])
    await clock.advance(1)
    expect(run.startsOf('a')).toEqual([0, 10_000])
    expect(run.effects).toEqual([{ part: 'interval', at: 10_000, afterMs: 9_001, sessions: 1 }])
  })

  it('follows the last of two changes within a second and reports only that one', async () => {
    run.scheduler.urge('a')
    await clock.advance(0)
    run.scheduler.changed('a')
    await clock.advance(1_000)
    run.intervalMs.set(5_000)
    await clock.advance(400)
    run.intervalMs.set(2_000)
    expect(clock.pending()).toBe(1)
    await clock.advance(10_000)
    expect(run.startsOf('a')).toEqual([0, 2_000])
    expect(run.effects).toEqual([{ part: 'interval', at: 2_000, afterMs: 600, sessions: 1 }])
  })

  it('takes a change during a flush for the next due time', async () => {
    run.control.storeMs = 400
    run.scheduler.urge('a')
    await clock.advance(100)
    run.scheduler.changed('a')
    run.intervalMs.set(1_000)
    expect(run.scheduler.isRetuning('interval')).toBe(true)
    await clock.advance(300)
    expect(run.scheduler.isRetuning('interval')).toBe(false)
    await clock.advance(1_000)
    expect(run.startsOf('a')).toEqual([0, 1_000])
  })

  it('is in effect at once when nothing is waiting, and says so in a turn of its own', async () => {
    run.scheduler.urge('a')
    await clock.advance(60_000)
    run.intervalMs.set(1_000)
    expect(run.effects).toEqual([])
    await clock.advance(0)
    expect(run.effects).toEqual([{ part: 'interval', at: 60_000, afterMs: 0, sessions: 1 }])
  })

  it('counts a key that leaves as done', async () => {
    run.scheduler.urge('a')
    await clock.advance(0)
    run.scheduler.changed('a')
    run.intervalMs.set(5_000)
    run.scheduler.remove('a')
    expect(run.effects).toEqual([{ part: 'interval', at: 0, afterMs: 0, sessions: 0 }])
  })

  it('takes back what is left of a round that the new interval makes not yet due', async () => {
    await end()
    begin({ intervalMs: 1_000, groupSize: 1, groupsAtATime: 2 })
    for (const key of ['a', 'b', 'c']) run.scheduler.urge(key)
    await clock.advance(0)
    await clock.advance(0)
    run.control.storeMs = 300
    for (const key of ['a', 'b', 'c']) run.scheduler.changed(key)
    await clock.advance(1_100)
    run.intervalMs.set(10_000)
    await clock.advance(8_000)
    expect(run.startsOf('a')).toEqual([0, 1_000])
    expect(run.startsOf('c')).toEqual([0])
    await clock.advance(2_000)
    expect(run.startsOf('c')).toEqual([0, 10_000])
  })

  it('uses a tenth of the new interval as backoff, or the number given, never more than the interval', async () => {
    run.control.storeMs = 990
    run.scheduler.urge('a')
    run.intervalMs.set(1_000)
    await run.busy('a', 2_000, 10)
    expect(run.startsOf('a')).toEqual([0, 1_090])
    run.backoffMs.set(60_000)
    await run.busy('a', 3_000, 10)
    expect(run.startsOf('a')).toEqual([0, 1_090, 3_080])
    await clock.advance(5_000)
  })

  it('moves the due times of 10,000 sessions at once, on one timer', async () => {
    await end()
    begin({ groupSize: 10_000 })
    for (let index = 0; index < 10_000; index++) run.scheduler.urge(`DataplaneInsight\0default\0dp-${index}`)
    await clock.advance(0)
    for (let index = 0; index < 10_000; index++) run.scheduler.changed(`DataplaneInsight\0default\0dp-${index}`)
    const timers = clock.pending()
    for (const intervalMs of [1_000, 30_000, 2_000, 20_000, 10_000]) {
      run.intervalMs.set(intervalMs)
      expect(run.scheduler.earliestDueAt()).toBe(intervalMs)
      expect(clock.pending()).toBe(timers)
    }
  })
})

describe('heartbeats', () => {
  beforeEach(async () => {
    await end()
    begin({ idleTimeoutMs: 300_000 })
  })

  it('come every half idle timeout for a quiet key, with phases spread over the period', async () => {
    const keys = Array.from({ length: 100 }, (_, index) => `DataplaneInsight\0default\0dp-${index}`)
    for (const key of keys) run.scheduler.urge(key)
    await clock.advance(1_000)
    const firstFlushes = run.attempts.splice(0)
    expect(firstFlushes).toHaveLength(100)
    await clock.advance(600_000)
    for (const key of keys) {
      const starts = run.startsOf(key)
      expect(starts.length).toBeGreaterThanOrEqual(3)
      expect(starts[0]).toBeLessThanOrEqual(160_000)
      for (const [index, at] of starts.slice(1).entries()) expect(at - (starts[index] ?? 0)).toBeCloseTo(150_000)
    }
    expect(run.attempts.every(({ isHeartbeatDue }) => isHeartbeatDue)).toBe(true)
    const quarters = [0, 0, 0, 0]
    for (const key of keys) quarters[Math.floor((((run.startsOf(key)[0] ?? 0) % 150_000) / 150_000) * 4)]!++
    for (const count of quarters) expect(count).toBeGreaterThan(12)
  })

  it('stay spread after all keys were written at the same moment', async () => {
    for (let index = 0; index < 50; index++) run.scheduler.urge(`key-${index}`)
    await clock.advance(40_000)
    for (let index = 0; index < 50; index++) run.scheduler.changed(`key-${index}`)
    await clock.advance(1_000)
    run.attempts.length = 0
    await clock.advance(150_000)
    expect(new Set(run.attempts.map(({ startedAt }) => startedAt)).size).toBeGreaterThan(45)
  })

  it('move within the new period when the idle timeout is shortened, spread over it', async () => {
    for (let index = 0; index < 50; index++) run.scheduler.urge(`key-${index}`)
    await clock.advance(200_000)
    run.attempts.length = 0
    run.idleTimeoutMs.set(60_000)
    await clock.advance(0)
    expect(run.effects).toEqual([{ part: 'idleTimeout', at: 200_000, afterMs: 0, sessions: 50 }])
    await clock.advance(30_000)
    expect(run.attempts).toHaveLength(50)
    expect(new Set(run.attempts.map(({ startedAt }) => startedAt)).size).toBeGreaterThan(45)
  })
})

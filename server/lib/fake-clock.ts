import { type Clock, sleepOn, yieldToEventLoop } from './clock.ts'

/** A clock that moves only when told. For tests: no test sleeps. */
export interface FakeClock extends Clock {
  /** Moves both times on by `ms`, firing what falls due in order, and lets promises settle after each. */
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone, as a time server or an operator would; waits are not affected. */
  jump(ms: number): void
  /** Timers not yet fired or cancelled: 0 at the end of a test that left nothing behind. */
  pending(): number
}

export function createFakeClock(startAt = Date.UTC(2026, 0, 1)): FakeClock {
  let elapsedMs = 0
  let wallOffset = startAt
  let sequence = 0
  const timers = new Map<number, { dueAt: number; fire: () => void }>()
  const nextDue = () => [...timers].sort(([a, x], [b, y]) => x.dueAt - y.dueAt || a - b)[0]
  const clock: FakeClock = {
    now: () => wallOffset + elapsedMs,
    monotonic: () => elapsedMs,
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
    at(dueAt, fire) {
      const id = sequence++
      timers.set(id, { dueAt, fire })
      return { cancel: () => void timers.delete(id) }
    },
    async advance(ms) {
      const target = elapsedMs + ms
      await settle()
      for (let next = nextDue(); next !== undefined && next[1].dueAt <= target; next = nextDue()) {
        const [id, timer] = next
        timers.delete(id)
        elapsedMs = Math.max(elapsedMs, timer.dueAt)
        timer.fire()
        await settle()
      }
      elapsedMs = target
    },
    jump(ms) {
      wallOffset += ms
    },
    pending: () => timers.size,
  }
  return clock
}

/** A few turns of the event loop: enough for chains of promises and setImmediate hops, without waiting for time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await yieldToEventLoop()
}

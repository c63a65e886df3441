import type { Clock } from '../lib/clock.ts'
import type { Counters } from '../model/views.ts'

/** What interrupted the whole process, for operators who wonder why everything was late at once. */
export interface Interruptions {
  /** The last one, for a minute after its end. */
  recent(): Interruption | null
  run(signal: AbortSignal): Promise<void>
}

/**
 * `stopped`: it did not run (SIGSTOP, a frozen container); `blocked`: something in it computed in one go; `clock_set`: the wall
 * clock was set, or the machine slept. `endedAt` is by the clock after it.
 */
type Interruption = NonNullable<Counters['interruption']>

export interface InterruptionsDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>
  /** Milliseconds of CPU this process has used, all threads. */
  readonly cpuMs: () => number
}

const LOOK_EVERY_MS = 500
/** Shorter ones are the event loop's lag. */
const LONG_MS = 2_000
/** By less a clock is steered, not set. */
const CLOCK_SET_MS = 1_000
const TOLD_FOR_MS = 60_000

export function createInterruptions({ clock, cpuMs }: InterruptionsDeps): Interruptions {
  let last: { readonly at: number; readonly interruption: Interruption } | undefined

  return {
    recent: () => (last !== undefined && clock.monotonic() - last.at < TOLD_FOR_MS ? last.interruption : null),
    async run(signal) {
      let before = look()
      while (!signal.aborted) {
        await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined)
        if (signal.aborted) return
        const after = look()
        const interruption = interruptionBetween(before, after)
        if (interruption !== null) last = { at: after.monotonic, interruption }
        before = after
      }
    },
  }

  function look(): Look {
    return { wall: clock.now(), monotonic: clock.monotonic(), cpuMs: cpuMs() }
  }
}

interface Look {
  readonly wall: number
  readonly monotonic: number
  readonly cpuMs: number
}

/** The graver of what two looks, half a second apart if nothing is wrong, tell of. */
export function interruptionBetween(before: Look, after: Look): Interruption | null {
  const lateMs = after.monotonic - before.monotonic - LOOK_EVERY_MS
  if (lateMs >= LONG_MS) {
    const hasComputed = after.cpuMs - before.cpuMs > lateMs / 2
    return { kind: hasComputed ? 'blocked' : 'stopped', endedAt: after.wall, ms: Math.round(lateMs) }
  }
  const setByMs = after.wall - before.wall - (after.monotonic - before.monotonic)
  return Math.abs(setByMs) > CLOCK_SET_MS ? { kind: 'clock_set', endedAt: after.wall, ms: Math.round(setByMs) } : null
}

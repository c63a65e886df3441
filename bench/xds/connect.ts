import { type Bench, bound, type Pair, quantile } from '../harness.ts'
import { type Arm, startArm } from './processes.ts'

const REPEATS = 5
const CROWD = 200
const STORM = 1_000
/** Of those that come alone, one after the other. */
const ALONE = 11
/** Numbers are taken once: whoever comes was never there. */
const NUMBERS_APART = 20

interface Connected {
  readonly ms: readonly number[]
  readonly cpuMs: number
}

/** From a data plane's connect to its first configuration, against one that waits until a cache of a second has expired. */
export const connectBench: Bench = {
  name: 'connect',
  async run() {
    const ours = await startArm()
    const waiting = await startArm(['--waits-for-cache'])
    const alone: Repeat[] = []
    const crowd: Repeat[] = []
    const storm: Repeat[] = []
    let from = 0
    const both = async (measure: (arm: Arm) => Promise<Connected>, order: readonly Arm[]): Promise<Repeat> => {
      const of = new Map<Arm, Connected>()
      for (const arm of order) of.set(arm, await measure(arm))
      return { ours: of.get(ours)!, waiting: of.get(waiting)! }
    }
    const together = (count: number) => async (arm: Arm) => {
      const numbers = from
      from += count + NUMBERS_APART
      await arm.host.ask({ kind: 'usage' })
      const { firstMs } = await arm.fleet.ask({ kind: 'connect', port: arm.port, from: numbers, count, quiet: false })
      const { cpuMs } = await arm.host.ask({ kind: 'usage' })
      await arm.host.ask({ kind: 'check', count })
      await arm.fleet.ask({ kind: 'cut' })
      await arm.host.ask({ kind: 'sessions', count: 0 })
      return { ms: firstMs, cpuMs }
    }
    const oneByOne = async (arm: Arm): Promise<Connected> => {
      const each: Connected[] = []
      // One that waits takes a second: three are enough to see that.
      for (let one = 0; one < (arm === ours ? ALONE : 3); one++) each.push(await together(1)(arm))
      return {
        ms: each.flatMap(({ ms }) => ms),
        cpuMs: quantile(
          each.map(({ cpuMs }) => cpuMs),
          0.5,
        ),
      }
    }
    try {
      for (const arm of [ours, waiting]) for (let warm = 0; warm < 5; warm++) await together(100)(arm)
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        const order = repeat % 2 === 0 ? [ours, waiting] : [waiting, ours]
        alone.push(await both(oneByOne, order))
        crowd.push(await both(together(CROWD), order))
        storm.push(await both(together(STORM), order))
      }
    } finally {
      await ours.stop()
      await waiting.stop()
    }
    return [
      against('alone.p50', 'Connect to first configuration, alone, p50', { repeats: alone, share: 0.5, target: 300 }),
      against('storm.p50', `Connect to first configuration, ${STORM} at once, p50`, { repeats: storm, share: 0.5, target: 4 }),
      within('storm.max', `Connect to first configuration, ${STORM} at once, the last within a second (no step of it)`, {
        repeats: storm,
        share: 1,
        limitMs: 1_000,
      }),
      within('crowd.p99', `Connect to first configuration, ${CROWD} at once, p99 within 400 ms`, {
        repeats: crowd,
        share: 0.99,
        limitMs: 400,
      }),
    ]
  },
}

interface Repeat {
  readonly ours: Connected
  readonly waiting: Connected
}

function against(
  id: string,
  title: string,
  { repeats, share, target }: { readonly repeats: readonly Repeat[]; readonly share: number; readonly target: number },
): Pair {
  const runs = repeats.map(({ ours, waiting }) => ({ ours: quantile(ours.ms, share), baseline: quantile(waiting.ms, share) }))
  const note = `baseline: the same product, which waits one cache TTL of 1 s after a registration; ${cpuOf(repeats)}`
  return { id: `connect.${id}`, title, unit: 'ms', target, note, runs }
}

function within(
  id: string,
  title: string,
  { repeats, share, limitMs }: { readonly repeats: readonly Repeat[]; readonly share: number; readonly limitMs: number },
): Pair {
  const measured = repeats.map(({ ours }) => quantile(ours.ms, share))
  const theirs = quantile(
    repeats.map(({ waiting }) => quantile(waiting.ms, share)),
    0.5,
  )
  const note = `one that waits for a cache: ${theirs.toFixed(0)} ms; ${cpuOf(repeats)}`
  return { id: `connect.${id}`, title, unit: 'ms', target: 1, note, runs: bound(limitMs, measured) }
}

function cpuOf(repeats: readonly Repeat[]): string {
  const of = (arm: keyof Repeat) =>
    quantile(
      repeats.map((repeat) => repeat[arm].cpuMs),
      0.5,
    ).toFixed(0)
  return `CPU ${of('ours')} ms against ${of('waiting')} ms`
}

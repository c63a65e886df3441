import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Bench, Pair } from '../harness.ts'
import type { FollowerFigures } from './follower.ts'

const ARMS = ['ours-stream', 'ours-pages', 'informer'] as const
type Arm = (typeof ARMS)[number]

const OBJECTS = 50_000
const EVENTS_PER_SECOND = 2_000
const SECONDS = 8
const REPEATS = 3
const BASELINE =
  'baseline: the informer of @kubernetes/client-node 2.0.1, which keeps whole objects; each arm in a process of its own, the server in a third'

/** 50,000 leases, renewed 2,000 times a second, from one server process; each arm reads and follows them, in turn. */
export const reflectorBench: Bench = {
  name: 'reflector',
  async run() {
    const arms = await follow()
    const pair = (
      id: string,
      title: string,
      figure: { readonly of: (figures: FollowerFigures) => number; readonly unit: string; readonly arm?: Arm; readonly target: number },
    ): Pair => ({
      id: `reflector.${id}`,
      title,
      unit: figure.unit,
      target: figure.target,
      runs: arms[figure.arm ?? 'ours-stream'].map((ours, index) => ({ ours: figure.of(ours), baseline: figure.of(arms.informer[index]!) })),
      note: BASELINE,
    })
    return [
      pair('lag.p99', `Lag of an event, p99, at ${EVENTS_PER_SECOND} events/s`, {
        of: ({ lagMs }) => Math.max(1, lagMs.p99),
        unit: 'ms',
        target: 1,
      }),
      pair('rss', `Memory while ${OBJECTS} objects are followed`, { of: ({ rssMb }) => rssMb, unit: 'MB', target: 1 }),
      pair('block.stream', `Longest block of the event loop while ${OBJECTS} objects are read in one stream`, {
        of: ({ longestBlockMs }) => longestBlockMs,
        unit: 'ms',
        target: 4,
      }),
      pair('block.pages', `Longest block of the event loop while ${OBJECTS} objects are read by pages`, {
        of: ({ longestBlockMs }) => longestBlockMs,
        unit: 'ms',
        arm: 'ours-pages',
        target: 4,
      }),
      pair('sync', `Until ${OBJECTS} objects are read`, { of: ({ syncMs }) => syncMs, unit: 'ms', target: 1 }),
    ]
  },
}

async function follow(): Promise<Readonly<Record<Arm, readonly FollowerFigures[]>>> {
  const server = run('lease-server.ts', [String(OBJECTS), String(EVENTS_PER_SECOND)])
  try {
    const { port } = await server.line<{ port: number }>()
    const arms: Record<Arm, FollowerFigures[]> = { 'ours-stream': [], 'ours-pages': [], informer: [] }
    for (let round = 0; round < REPEATS; round++)
      for (const arm of round % 2 === 0 ? ARMS : ARMS.toReversed()) {
        const follower = run('follower.ts', [arm, String(port), String(SECONDS)])
        const figures = await follower.line<FollowerFigures>()
        if (figures.objects !== OBJECTS) throw new Error(`${arm} has ${figures.objects} objects of ${OBJECTS}`)
        arms[arm].push(figures)
      }
    return arms
  } finally {
    server.stop()
  }
}

function run(file: string, args: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const first = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code} before it said anything`)))
  })
  return { line: async <T>() => JSON.parse(await first) as T, stop: () => void child.kill() }
}

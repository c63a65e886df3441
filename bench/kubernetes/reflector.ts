import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { FollowerFigures } from './follower.ts'

/** 50,000 leases, 2,000 renewals a second, from one server process; each arm follows them in a process of its own, in turn. */
export interface ReflectorBench {
  readonly arms: Readonly<Record<Arm, readonly FollowerFigures[]>>
}
const ARMS = ['ours-stream', 'ours-pages', 'informer'] as const
type Arm = (typeof ARMS)[number]

export const OBJECTS = 50_000
export const EVENTS_PER_SECOND = 2_000

export async function benchReflector({ runs = 3, seconds = 10 } = {}): Promise<ReflectorBench> {
  const server = run('lease-server.ts', [String(OBJECTS), String(EVENTS_PER_SECOND)])
  try {
    const { port } = await server.line<{ port: number }>()
    const arms: Record<Arm, FollowerFigures[]> = { 'ours-stream': [], 'ours-pages': [], informer: [] }
    for (let round = 0; round < runs; round++)
      for (const arm of ARMS) {
        const follower = run('follower.ts', [arm, String(port), String(seconds)])
        arms[arm].push(await follower.line<FollowerFigures>())
        follower.stop()
      }
    return { arms }
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

if (import.meta.main) {
  const { arms } = await benchReflector()
  console.log(JSON.stringify(arms, null, 1))
}

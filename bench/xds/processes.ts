import { type Child, startChild } from './child.ts'
import type { FleetAnswers, FleetOrder } from './fleet-process.ts'
import type { HostAnswers, HostOrder } from './host-process.ts'

/** The product in one process and data planes in another; what measures is a third. */
export interface Arm {
  readonly host: Child<HostOrder, HostAnswers>
  readonly fleet: Child<FleetOrder, FleetAnswers>
  readonly url: string
  readonly port: number
  stop(): Promise<void>
}

export async function startArm(args: readonly ('--pages' | '--waits-for-cache')[] = []): Promise<Arm> {
  // TIDEWATCH_BENCH_PROFILE=<folder> leaves a CPU profile of the measured process there.
  const profile = process.env['TIDEWATCH_BENCH_PROFILE']
  const execArgv = ['--expose-gc', ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`])]
  const host = startChild<HostOrder, HostAnswers>('host-process.ts', { args, execArgv })
  const fleet = startChild<FleetOrder, FleetAnswers>('fleet-process.ts')
  const { url, xdsPort: port } = await host.ask({ kind: 'start' })
  return {
    host,
    fleet,
    url,
    port,
    async stop() {
      await fleet.stop()
      await host.stop()
    },
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import type { Logger } from 'pino'
import { backoffDelayMs, type BackoffPolicy } from '../lib/backoff.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import type { Random } from '../lib/random.ts'
import type { DemoFault } from '../model/views.ts'
import type { DemoControls } from './control-plane.ts'

/** Something simulated of --demo (data planes, zones): a process of its own, told over IPC what to break; started again when it dies. */
export interface DemoProcess extends DemoControls {
  /** Resolves once it has said what can be broken: what it simulates is there. */
  readonly ready: Promise<void>
  run(signal: AbortSignal): Promise<void>
}

export interface DemoProcessDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** What this process does in itself when a switch moves, by the switch's name. */
  readonly alongside: Readonly<Record<string, (active: boolean) => Promise<void>>>
}

export interface DemoProcessOptions {
  /** For messages: `the simulated fleet`. */
  readonly what: string
  /** Its program. */
  readonly entry: string
  /** Asked at each start. */
  readonly args: () => readonly string[]
  /** How long it may take to end after SIGTERM before it is killed; default a second. */
  readonly endWithinMs?: number
}

/** Several as one: each knows its own switches. */
export function combineDemo(processes: readonly DemoControls[]): DemoControls {
  const list = () => processes.flatMap((each) => each.list())
  return {
    list,
    async set(name, active) {
      const owner = processes.find((each) => each.list().some((fault) => fault.name === name))
      if (owner !== undefined) return owner.set(name, active)
      const names = list().map((fault) => fault.name)
      throw new CoreError(
        'not_found',
        `there is no switch "${name}"; there are: ${names.join(', ') || 'none yet, what is simulated is starting'}`,
        {
          details: { name },
        },
      )
    },
  }
}

const RESTART: BackoffPolicy = { baseMs: 500, maxMs: 10_000, factor: 2, jitterPercent: 20 }
const STABLE_AFTER_MS = 30_000
const ANSWER_WITHIN_MS = 3_000
/** After SIGTERM; then it is killed, so that it never costs us our own last flushes. */
const END_WITHIN_MS = 1_000

interface FaultsMessage {
  readonly kind: 'faults'
  readonly faults: readonly DemoFault[]
}

export function createDemoProcess(
  deps: DemoProcessDeps,
  { what, entry, args, endWithinMs = END_WITHIN_MS }: DemoProcessOptions,
): DemoProcess {
  const { clock, random, log, alongside } = deps
  let child: ChildProcess | undefined
  let faults: readonly DemoFault[] = []
  const waiting = new Set<() => void>()
  const ready = Promise.withResolvers<void>()

  return { list: () => faults, set, run, ready: ready.promise }

  async function set(name: string, active: boolean): Promise<void> {
    if (!faults.some((fault) => fault.name === name)) {
      throw new CoreError(
        'not_found',
        `there is no switch "${name}"; there are: ${faults.map((fault) => fault.name).join(', ') || `none yet, ${what} is starting`}`,
        { details: { name } },
      )
    }
    const told = Promise.withResolvers<void>()
    const onFaults = () => {
      if (faults.find((fault) => fault.name === name)?.active === active) told.resolve()
    }
    waiting.add(onFaults)
    const deadline = clock.at(clock.monotonic() + ANSWER_WITHIN_MS, () =>
      told.reject(new CoreError('unavailable', `${what} does not answer; it is started again when it has died`)),
    )
    try {
      child?.send({ kind: 'set', fault: name, active })
      await told.promise
      await alongside[name]?.(active)
    } finally {
      waiting.delete(onFaults)
      deadline.cancel()
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt++) {
      const startedAt = clock.monotonic()
      const code = await live(signal)
      if (signal.aborted) return
      await switchAllOff()
      if (clock.monotonic() - startedAt > STABLE_AFTER_MS) attempt = 1
      const waitMs = backoffDelayMs(RESTART, attempt, random)
      log.warn({ code, nextInMs: Math.round(waitMs) }, `${what} ended; it is started again`)
      await clock.sleep(waitMs, signal).catch(() => undefined)
    }
  }

  /** The next one starts with all switches off; so do we. */
  async function switchAllOff() {
    const active = faults.filter((fault) => fault.active)
    faults = []
    for (const { name } of active) {
      await alongside[name]?.(false).catch((error: unknown) => log.warn({ err: error }, `could not switch off what goes with ${name}`))
    }
  }

  /** One life of the process; resolves with its exit code, or with why it could not be started. */
  function live(signal: AbortSignal): Promise<number | string | null> {
    return new Promise((resolve) => {
      const started = spawn(process.execPath, [entry, ...args()], { stdio: ['ignore', 2, 2, 'ipc'] })
      let deadline: Timer | undefined
      const onAbort = () => {
        started.kill('SIGTERM')
        deadline = clock.at(clock.monotonic() + endWithinMs, () => started.kill('SIGKILL'))
      }
      const ended = (outcome: number | string | null) => {
        signal.removeEventListener('abort', onAbort)
        deadline?.cancel()
        child = undefined
        resolve(outcome)
      }
      child = started
      signal.addEventListener('abort', onAbort, { once: true })
      started.on('message', (message) => {
        if ((message as FaultsMessage).kind !== 'faults') return
        faults = (message as FaultsMessage).faults
        ready.resolve()
        for (const tell of waiting) tell()
      })
      // Not started, or not told: it has died or is about to.
      started.on('error', ({ message }) => {
        if (started.pid === undefined) ended(message)
      })
      started.on('close', ended)
    })
  }
}

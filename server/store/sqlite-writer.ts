import type { Clock, Timer } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import { createCommitPace } from './commit-pace.ts'
import type { StoreHealth } from './resource-store.ts'
import type { Committed, Removed, WorkerAnswer, WorkerRequest, WorkerWrite, Winner } from './sqlite-worker-protocol.ts'

/**
 * Group commit. One transaction is under way at a time; what is asked for meanwhile goes with the next one, whoever asked, so
 * a thousand single writes cost a few commits. Jobs of a few rows, which somebody waits for, go before those of hundreds, but
 * not twice in a row.
 *
 *   idle -- job --> starting (no thread yet) --> busy -- answer --> busy (more jobs) | idle
 *   any -- the thread ends by itself --> its jobs fail; the next job starts another
 *
 * A commit that fails fails its own jobs alone. Until one works again there is a `problem`, and once a second it is tried
 * whether the file can be written, so that the problem goes when its cause does.
 */
export interface SqliteWriter extends StoreHealth {
  /** Of all versions that were ever given out, the highest. */
  readonly highestVersion: number
  nextVersion(): number
  submit(job: Job): void
  /** True if it was still waiting: then it is not written and its `settle` is never called. */
  withdraw(job: Job): boolean
  /** Finishes what was submitted, then ends the thread and lets go of the file. */
  close(): Promise<void>
}

export interface Job {
  readonly writes: readonly WorkerWrite[]
  /** All or nothing. */
  readonly isAtomic: boolean
  /** Called once, in the order of the commits. */
  readonly settle: (answer: JobAnswer) => void
}
export type JobAnswer =
  | {
      readonly kind: 'committed'
      /** Of the job's own writes. */
      readonly outcomes: Uint8Array
      readonly winnerOf: (index: number) => Winner | undefined
      readonly removedBy: (index: number) => readonly Removed[]
    }
  | { readonly kind: 'failed'; readonly error: CoreError }

/** The thread that writes. */
export interface WriterThread {
  send(request: WorkerRequest): void
  close(): Promise<void>
}
export interface ThreadEvents {
  onAnswer(answer: WorkerAnswer): void
  /** It has ended without being asked to. */
  onEnd(message: string): void
}
/** Resolves when it has the file; throws a CoreError with one line for an operator when it can't. */
export type StartThread = (events: ThreadEvents) => Promise<{ readonly thread: WriterThread; readonly highestVersion: number }>

export interface SqliteWriterDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'at'>
  readonly instance: string
  readonly startThread: StartThread
}

/** Writes that one transaction carries, at most one job more. */
const ROWS_PER_COMMIT = 1_000
/** A setting and its trace, a registration, a certificate's times. */
const FEW_ROWS = 4
const PROBE_EVERY_MS = 1_000

export async function startSqliteWriter({ clock, instance, startThread }: SqliteWriterDeps): Promise<SqliteWriter> {
  let waiting: Job[] = []
  let underWay: readonly Job[] | undefined
  let thread: WriterThread | undefined
  let highestVersion = 0
  let problem: { readonly message: string; readonly since: number } | null = null
  let probe: Timer | undefined
  const pace = createCommitPace(clock)
  let onIdle: (() => void) | undefined
  let hasFewGoneFirst = false
  let isSendPlanned = false

  await start()

  return {
    get highestVersion() {
      return highestVersion
    },
    nextVersion: () => ++highestVersion,
    submit(job) {
      waiting.push(job)
      planSend()
    },
    withdraw(job) {
      const place = waiting.indexOf(job)
      if (place !== -1) waiting.splice(place, 1)
      return place !== -1
    },
    problem: () => problem,
    slow: pace.slow,
    async close() {
      if (underWay !== undefined || waiting.length > 0) await new Promise<void>((resolve) => (onIdle = resolve))
      probe?.cancel()
      const ending = thread
      thread = undefined
      await ending?.close()
    },
  }

  async function start(): Promise<void> {
    const started = await startThread({ onAnswer, onEnd })
    thread = started.thread
    highestVersion = Math.max(highestVersion, started.highestVersion)
  }

  /** Not at once: what else this turn asks for goes along. */
  function planSend() {
    if (isSendPlanned) return
    isSendPlanned = true
    queueMicrotask(() => {
      isSendPlanned = false
      if (underWay !== undefined) return
      if (waiting.length > 0) send(takeGroup())
      else onIdle?.()
    })
  }

  function takeGroup(): Job[] {
    const few = waiting.filter(({ writes }) => writes.length <= FEW_ROWS)
    hasFewGoneFirst = !hasFewGoneFirst && few.length > 0 && few.length < waiting.length
    const group = firstOf(hasFewGoneFirst ? few : waiting)
    const taken = new Set(group)
    waiting = waiting.filter((job) => !taken.has(job))
    return group
  }

  /** An empty group only tries whether the file can be written. */
  function send(group: readonly Job[]) {
    underWay = group
    pace.begun()
    if (thread === undefined) void restart()
    else thread.send(toRequest(group))
  }

  async function restart(): Promise<void> {
    try {
      await start()
      thread?.send(toRequest(underWay ?? []))
    } catch (error) {
      const message = error instanceof CoreError ? error.message : String(error)
      // Nothing was sent, so nothing was written.
      failed(message, { safeToRetry: true })
    }
  }

  function toRequest(group: readonly Job[]): WorkerRequest {
    const writes: WorkerWrite[] = []
    const atomic: [number, number][] = []
    for (const job of group) {
      const from = writes.length
      for (const write of job.writes) writes.push(write)
      if (job.isAtomic) atomic.push([from, writes.length])
    }
    return { instance, writes, atomic, highestVersion }
  }

  function onAnswer(answer: WorkerAnswer) {
    if (answer.kind === 'committed') committed(answer)
    else if (answer.kind === 'failed') failed(answer.message, { safeToRetry: true })
  }

  function onEnd(message: string) {
    thread = undefined
    // It may have ended right after the commit: what is stored has to be read before it is written again.
    failed(message, { safeToRetry: false })
  }

  function committed({ tookMs, outcomes, winners, removed }: Committed) {
    const answered = underWay ?? []
    pace.ended(tookMs)
    problem = null
    next()
    let from = 0
    for (const { writes, settle } of answered) {
      const first = from
      from += writes.length
      settle({
        kind: 'committed',
        outcomes: outcomes.subarray(first, from),
        winnerOf: (index) => winners.get(first + index),
        removedBy: (index) => removed.get(first + index) ?? [],
      })
    }
  }

  function failed(message: string, { safeToRetry }: { readonly safeToRetry: boolean }) {
    const answered = underWay ?? []
    pace.failed()
    problem = { message, since: problem?.since ?? clock.now() }
    next()
    for (const { settle } of answered) settle({ kind: 'failed', error: new CoreError('unavailable', message, { safeToRetry }) })
  }

  function next() {
    underWay = undefined
    probe?.cancel()
    if (waiting.length > 0) send(takeGroup())
    else if (onIdle !== undefined) onIdle()
    else if (problem !== null) {
      probe = clock.at(clock.monotonic() + PROBE_EVERY_MS, () => {
        if (underWay === undefined) send(takeGroup())
      })
    }
  }
}

/** As many as go into one transaction. */
function firstOf(jobs: readonly Job[]): Job[] {
  let rows = 0
  let count = 0
  while (count < jobs.length && rows < ROWS_PER_COMMIT) rows += jobs[count++]!.writes.length
  return jobs.slice(0, count)
}

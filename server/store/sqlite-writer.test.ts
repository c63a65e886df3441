import { describe, expect, it } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { WorkerRequest, WorkerWrite } from './sqlite-worker-protocol.ts'
import { type Job, type JobAnswer, startSqliteWriter, type StartThread, type ThreadEvents } from './sqlite-writer.ts'

/** A thread that answers when told to. */
function fakeThread() {
  const requests: WorkerRequest[] = []
  const state = { starts: 0, closed: 0, refusal: undefined as string | undefined }
  let events: ThreadEvents | undefined
  const startThread: StartThread = async (given) => {
    state.starts++
    if (state.refusal !== undefined) throw new CoreError('unavailable', state.refusal)
    events = given
    return {
      thread: {
        send: (request) => requests.push(request),
        close: async () => void state.closed++,
      },
      highestVersion: 41,
    }
  }
  return {
    state,
    startThread,
    requests,
    sizes: () => requests.map(({ writes }) => writes.length),
    commit() {
      const outcomes = new Uint8Array(requests.at(-1)?.writes.length ?? 0)
      events?.onAnswer({ kind: 'committed', tookMs: 1, outcomes, winners: new Map(), removed: new Map() })
    },
    fail: (message: string) => events?.onAnswer({ kind: 'failed', message }),
    end: (message: string) => events?.onEnd(message),
  }
}

async function make() {
  const clock = createFakeClock()
  const thread = fakeThread()
  const writer = await startSqliteWriter({ clock, instance: 'i', startThread: thread.startThread })
  const settled: string[] = []
  const job = (name: string, options: { readonly rows?: number; readonly isAtomic?: boolean } = {}): Job => ({
    writes: Array.from({ length: options.rows ?? 1 }, (): WorkerWrite => ({ kind: 'delete', key: ['T', '', name], expected: null })),
    isAtomic: options.isAtomic ?? false,
    settle: (answer: JobAnswer) => settled.push(`${name} ${answer.kind === 'committed' ? answer.outcomes.length : answer.error.message}`),
  })
  return { clock, thread, writer, settled, job, turn: () => clock.advance(0) }
}

describe('group commit', () => {
  it('sends what one turn asks for together, and what comes during a commit with the next', async () => {
    const { thread, writer, settled, job, turn } = await make()
    writer.submit(job('a'))
    writer.submit(job('b', { rows: 2 }))
    await turn()
    writer.submit(job('c'))
    writer.submit(job('d'))
    await turn()
    expect(thread.sizes()).toEqual([3])
    thread.commit()
    expect(thread.sizes()).toEqual([3, 2])
    expect(settled).toEqual(['a 1', 'b 2'])
    thread.commit()
    expect(settled).toEqual(['a 1', 'b 2', 'c 1', 'd 1'])
    await writer.close()
  })

  it('makes a few commits of a thousand single writes', async () => {
    const { thread, writer, settled, job, turn } = await make()
    for (let index = 0; index < 1_000; index++) writer.submit(job(`j${index}`))
    await turn()
    thread.commit()
    expect(thread.requests.length).toBeLessThanOrEqual(2)
    expect(settled).toHaveLength(1_000)
    await writer.close()
  })

  it('never cuts a job in two, marks the atomic ones and hands out versions above all that were ever used', async () => {
    const { thread, writer, job, turn } = await make()
    expect([writer.nextVersion(), writer.nextVersion()]).toEqual([42, 43])
    writer.submit(job('a', { rows: 600 }))
    writer.submit(job('b', { rows: 900, isAtomic: true }))
    writer.submit(job('c', { rows: 10, isAtomic: true }))
    await turn()
    expect(thread.requests).toMatchObject([{ atomic: [[600, 1_500]], highestVersion: 43 }])
    thread.commit()
    expect(thread.requests[1]).toMatchObject({ atomic: [[0, 10]] })
    thread.commit()
    await writer.close()
  })

  it('lets a few rows go before hundreds, but not twice in a row', async () => {
    const { thread, writer, settled, job, turn } = await make()
    writer.submit(job('first', { rows: 500 }))
    await turn()
    writer.submit(job('group', { rows: 125 }))
    writer.submit(job('setting', { rows: 2 }))
    thread.commit()
    writer.submit(job('registration'))
    thread.commit()
    thread.commit()
    expect(settled).toEqual(['first 500', 'setting 2', 'group 125', 'registration 1'])
    expect(thread.sizes()).toEqual([500, 2, 126])
    await writer.close()
  })

  it('withdraws what waits and not what is under way', async () => {
    const { thread, writer, settled, job, turn } = await make()
    const jobs = [job('a'), job('b'), job('c')] as const
    writer.submit(jobs[0])
    await turn()
    writer.submit(jobs[1])
    writer.submit(jobs[2])
    expect(writer.withdraw(jobs[0])).toBe(false)
    expect(writer.withdraw(jobs[1])).toBe(true)
    thread.commit()
    thread.commit()
    expect(settled).toEqual(['a 1', 'c 1'])
    await writer.close()
  })
})

describe('a writer whose commits fail', () => {
  it('fails those alone, says what the problem is and since when, and forgets it once a commit works', async () => {
    const { clock, thread, writer, settled, job, turn } = await make()
    writer.submit(job('a'))
    await turn()
    writer.submit(job('b'))
    const since = clock.now()
    thread.fail('no space')
    await clock.advance(10)
    thread.fail('no space at all')
    expect(writer.problem()).toEqual({ message: 'no space at all', since })
    writer.submit(job('c'))
    await turn()
    thread.commit()
    expect(settled).toEqual(['a no space', 'b no space at all', 'c 1'])
    expect(writer.problem()).toBeNull()
    expect(clock.pending()).toBe(0)
    await writer.close()
  })

  it('tries once a second whether the file can be written again, when nobody else does', async () => {
    const { clock, thread, writer, job, turn } = await make()
    writer.submit(job('a'))
    await turn()
    thread.fail('no space')
    await clock.advance(999)
    expect(thread.sizes()).toEqual([1])
    await clock.advance(1)
    expect(thread.sizes()).toEqual([1, 0])
    thread.fail('no space')
    await clock.advance(1_000)
    thread.commit()
    expect(writer.problem()).toBeNull()
    await clock.advance(10_000)
    expect(thread.sizes()).toEqual([1, 0, 0])
    await writer.close()
    expect(clock.pending()).toBe(0)
  })

  it('starts another thread when its own ends, fails only what was under way, and does not call that safe to retry', async () => {
    const { clock, thread, writer, settled, job, turn } = await make()
    let isSafe: boolean | undefined
    writer.submit({
      ...job('a'),
      settle: (answer) => {
        isSafe = answer.kind === 'failed' ? answer.error.safeToRetry : undefined
      },
    })
    await turn()
    writer.submit(job('b'))
    thread.end('the thread has ended')
    await turn()
    expect(isSafe).toBe(false)
    expect(thread.state.starts).toBe(2)
    thread.commit()
    expect(settled).toEqual(['b 1'])
    expect(writer.problem()).toBeNull()
    await writer.close()
    expect(clock.pending()).toBe(0)
  })

  it('goes on trying to start a thread that is refused the file', async () => {
    const { clock, thread, writer, settled, job, turn } = await make()
    thread.state.refusal = 'in use by another process'
    thread.end('the thread has ended')
    writer.submit(job('a'))
    await turn()
    expect(settled).toEqual(['a in use by another process'])
    await clock.advance(2_000)
    expect(thread.state.starts).toBe(4)
    thread.state.refusal = undefined
    await clock.advance(1_000)
    thread.commit()
    expect(writer.problem()).toBeNull()
    await writer.close()
  })
})

describe('closing', () => {
  it('finishes what was submitted before it ends the thread', async () => {
    const { clock, thread, writer, settled, job, turn } = await make()
    writer.submit(job('a'))
    const closing = writer.close()
    await turn()
    expect(thread.state.closed).toBe(0)
    thread.commit()
    await closing
    expect(settled).toEqual(['a 1'])
    expect(thread.state.closed).toBe(1)
    expect(clock.pending()).toBe(0)
  })

  it('does not wait for what was withdrawn', async () => {
    const { thread, writer, job } = await make()
    const withdrawn = job('a')
    writer.submit(withdrawn)
    const closing = writer.close()
    writer.withdraw(withdrawn)
    await closing
    expect(thread.sizes()).toEqual([])
  })
})

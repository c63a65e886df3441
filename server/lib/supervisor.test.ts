import { describe, expect, it } from 'vitest'
import { createFakeClock } from './fake-clock.ts'
import { type Part, superviseParts } from './supervisor.ts'

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })))

function make(parts: readonly Part[]) {
  const clock = createFakeClock()
  const failures: string[] = []
  const stuck: string[] = []
  const ending = new AbortController()
  const done = superviseParts(parts, ending.signal, {
    clock,
    random: () => 0.5,
    onFailure: ({ part, nextInMs }) => failures.push(`${part} in ${nextInMs}`),
    onStuck: (part) => stuck.push(part),
    graceMs: 1000,
  })
  return { clock, failures, stuck, ending, done }
}

describe('a supervisor', () => {
  it('stops parts in reverse order, each only when the one after it has ended', async () => {
    const seen: string[] = []
    const part = (name: string): Part => ({
      name,
      async run(signal) {
        await untilAborted(signal)
        seen.push(`${name} stopping`)
        await Promise.resolve()
        seen.push(`${name} ended`)
      },
    })
    const { ending, done, clock } = make([part('store'), part('sink'), part('streams')])
    ending.abort()
    await done
    expect(seen).toEqual(['streams stopping', 'streams ended', 'sink stopping', 'sink ended', 'store stopping', 'store ended'])
    expect(clock.pending()).toBe(0)
  })

  it('starts a part that fails or ends by itself again, waiting longer each time', async () => {
    let runs = 0
    const { clock, failures, ending, done } = make([{ name: 'flaky', run: async () => void runs++ }])
    await clock.advance(0)
    await clock.advance(200)
    await clock.advance(400)
    expect(runs).toBe(3)
    expect(failures).toEqual(['flaky in 200', 'flaky in 400', 'flaky in 800'])
    ending.abort()
    await done
    expect(clock.pending()).toBe(0)
  })

  it('waits the base again after a part was well for a while', async () => {
    let runs = 0
    const { clock, failures, ending, done } = make([
      {
        name: 'part',
        async run(signal) {
          runs++
          if (runs === 3) await clock.sleep(60_000, signal)
          throw new Error('down')
        },
      },
    ])
    await clock.advance(61_000)
    expect(failures.slice(0, 3)).toEqual(['part in 200', 'part in 400', 'part in 200'])
    ending.abort()
    await done
  })

  it('goes on to stop the others when a part hangs, and ends when that one has ended too', async () => {
    const hang = Promise.withResolvers<void>()
    const seen: string[] = []
    const { clock, stuck, ending, done } = make([
      {
        name: 'sink',
        async run(signal) {
          await untilAborted(signal)
          seen.push('last flush')
        },
      },
      { name: 'fleet', run: () => hang.promise },
    ])
    void done.then(() => seen.push('all ended'))
    ending.abort()
    await clock.advance(999)
    expect(seen).toEqual([])
    await clock.advance(1)
    expect(stuck).toEqual(['fleet'])
    expect(seen).toEqual(['last flush'])
    hang.resolve()
    await done
    expect(seen).toEqual(['last flush', 'all ended'])
    expect(clock.pending()).toBe(0)
  })

  it('does not start again what failed while it was being stopped', async () => {
    let runs = 0
    const { clock, failures, ending, done } = make([
      {
        name: 'part',
        async run(signal) {
          runs++
          await untilAborted(signal)
          throw new Error('too late')
        },
      },
    ])
    ending.abort()
    await done
    expect(runs).toBe(1)
    expect(failures).toEqual([])
    expect(clock.pending()).toBe(0)
  })
})

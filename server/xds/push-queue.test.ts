import { describe, expect, it } from 'vitest'
import { yieldToEventLoop } from '../lib/clock.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createPushQueue } from './push-queue.ts'
import type { XdsStream } from './stream.ts'

function start(count: number, isConcernedBy: (index: number, services: ReadonlySet<string>) => boolean = () => true) {
  const clock = createFakeClock()
  const pushed: number[] = []
  const asked: string[][] = []
  const streams = Array.from({ length: count }, (_, index) => {
    const stream = {
      isConcernedBy({ services }: { readonly services: ReadonlySet<string> }) {
        asked.push([...services])
        return isConcernedBy(index, services)
      },
      wantsPush: () => queue.enqueue(stream),
      push: () => void pushed.push(index),
    } as unknown as XdsStream
    return stream
  })
  const queue = createPushQueue(clock, () => streams)
  return { clock, queue, streams, pushed, asked }
}
const change = (...services: string[]) => ({ mesh: 'default', names: [], services })

describe('the push queue', () => {
  it('gathers a burst of changes and asks each stream once', async () => {
    const { clock, queue, pushed, asked } = start(2)
    for (const service of ['a', 'b', 'a']) queue.changed(change(service))
    expect(pushed).toEqual([])
    await clock.advance(5)
    expect(asked).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
    expect(pushed).toEqual([0, 1])
    expect(clock.pending()).toBe(0)
  })

  it('pushes only to whom it concerns', async () => {
    const { clock, queue, pushed } = start(4, (index, services) => services.has(`s${index}`))
    queue.changed(change('s1', 's3'))
    await clock.advance(5)
    expect(pushed).toEqual([1, 3])
  })

  it('gives the event loop its turn between slices, and serves a stream that asks again meanwhile once more', async () => {
    const { queue, streams, pushed } = start(60)
    for (const stream of streams) queue.enqueue(stream)
    queue.enqueue(streams[59]!)
    expect(pushed).toEqual([])
    await yieldToEventLoop()
    expect(pushed).toHaveLength(25)
    queue.enqueue(streams[0]!)
    for (let turn = 0; turn < 4; turn++) await yieldToEventLoop()
    expect(pushed).toHaveLength(61)
    expect(pushed.at(-1)).toBe(0)
  })

  it('sends nothing after its stop', async () => {
    const { clock, queue, streams, pushed } = start(30)
    queue.changed(change('a'))
    for (const stream of streams) queue.enqueue(stream)
    await yieldToEventLoop()
    queue.stop()
    await clock.advance(100)
    expect(pushed).toHaveLength(25)
    expect(clock.pending()).toBe(0)
  })
})

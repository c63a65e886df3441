import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { createFakeClock } from './fake-clock.ts'
import { deadlineSignal, linkedController } from './signals.ts'

it('aborts with the reason of the first of its signals, and may be aborted by itself without reaching them', () => {
  const [a, b] = [new AbortController(), new AbortController()]
  const linked = linkedController(a.signal, undefined, b.signal)
  b.abort('b ended')
  a.abort('a ended')
  expect(linked.signal.reason).toBe('b ended')
  const other = new AbortController()
  const own = linkedController(other.signal)
  own.controller.abort()
  expect(own.signal.aborted).toBe(true)
  expect(other.signal.aborted).toBe(false)
})

it('is aborted from the start by a signal that is', () => {
  expect(linkedController(new AbortController().signal, AbortSignal.abort('before')).signal.reason).toBe('before')
})

it('leaves no listener behind once it is released', () => {
  const { signal } = new AbortController()
  const linked = Array.from({ length: 20 }, () => linkedController(signal))
  for (const { release } of linked) release()
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

it('aborts with a timeout at its deadline, unless released before', async () => {
  const clock = createFakeClock()
  const deadline = deadlineSignal(clock, 5_000)
  const released = deadlineSignal(clock, 5_000)
  released.release()
  await clock.advance(4_999)
  expect(deadline.signal.aborted).toBe(false)
  clock.jump(-60_000)
  await clock.advance(1)
  expect(deadline.signal.reason).toMatchObject({ code: 'timeout', message: 'not done within 5000 ms' })
  expect(released.signal.aborted).toBe(false)
  expect(clock.pending()).toBe(0)
})

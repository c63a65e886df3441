import { expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { createSlowReaders } from './slow-readers.ts'

it('counts who is stalled now, and who was dropped in the last minute', async () => {
  const clock = createFakeClock()
  const readers = createSlowReaders(clock)
  const isOver = readers.stalled()
  readers.stalled()
  readers.dropped()
  await clock.advance(59_999)
  readers.dropped()
  expect(readers.read()).toEqual({ stalled: 2, dropped: 2 })
  await clock.advance(1)
  isOver()
  isOver()
  expect(readers.read()).toEqual({ stalled: 1, dropped: 1 })
})

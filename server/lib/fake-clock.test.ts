import { expect, it } from 'vitest'
import { createFakeClock } from './fake-clock.ts'

it('fires what falls due in order of time, then of asking, each at its own moment', async () => {
  const clock = createFakeClock()
  const fired: string[] = []
  for (const [name, dueAt] of [
    ['c', 20],
    ['a', 10],
    ['b', 10],
  ] as const)
    clock.at(dueAt, () => fired.push(`${name} ${clock.monotonic()}`))
  await clock.advance(15)
  expect(fired).toEqual(['a 10', 'b 10'])
  await clock.advance(5)
  expect(fired).toEqual(['a 10', 'b 10', 'c 20'])
  expect(clock.pending()).toBe(0)
})

it('fires what was asked for on the way, and nothing twice', async () => {
  const clock = createFakeClock()
  let laps = 0
  const again = () => {
    laps++
    clock.at(clock.monotonic() + 10, again)
  }
  clock.at(10, again)
  await clock.advance(55)
  expect(laps).toBe(5)
  expect(clock.pending()).toBe(1)
})

it('lets promises go on between what it fires', async () => {
  const clock = createFakeClock()
  const at: number[] = []
  const working = (async () => {
    for (let lap = 0; lap < 3; lap++) {
      await clock.sleep(10)
      at.push(clock.monotonic())
    }
  })()
  await clock.advance(100)
  await working
  expect(at).toEqual([10, 20, 30])
})

it('never fires what was cancelled, not even by what fired just before', async () => {
  const clock = createFakeClock()
  const fired: string[] = []
  clock.at(10, () => {
    fired.push('a')
    other.cancel()
  })
  const other = clock.at(10, () => fired.push('b'))
  await clock.advance(10)
  expect(fired).toEqual(['a'])
})

it('moves the wall clock alone when it jumps', async () => {
  const clock = createFakeClock(1_000)
  const sleeping = clock.sleep(100)
  clock.jump(-3_600_000)
  expect(clock.now()).toBe(1_000 - 3_600_000)
  await clock.advance(100)
  await sleeping
  expect(clock.monotonic()).toBe(100)
  expect(clock.now()).toBe(1_100 - 3_600_000)
})

it('wakes a sleeper at once when its signal aborts, with the reason of the signal', async () => {
  const clock = createFakeClock()
  const ending = new AbortController()
  const sleeping = clock.sleep(1_000, ending.signal)
  const reason = new Error('enough')
  ending.abort(reason)
  await expect(sleeping).rejects.toBe(reason)
  await expect(clock.sleep(1, ending.signal)).rejects.toBe(reason)
  expect(clock.pending()).toBe(0)
})

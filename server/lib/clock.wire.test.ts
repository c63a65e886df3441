import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { createSystemClock } from './clock.ts'

const clock = createSystemClock()

it('fires at the moment asked for, never before it and never in the same turn', async () => {
  for (const waitMs of [0.2, 1, 3.7, 20, -5]) {
    const dueAt = clock.monotonic() + waitMs
    let hasFired = false
    const firedAt = new Promise<number>((resolve) =>
      clock.at(dueAt, () => {
        hasFired = true
        resolve(clock.monotonic())
      }),
    )
    expect(hasFired).toBe(false)
    expect(await firedAt).toBeGreaterThanOrEqual(dueAt)
  }
})

it('waits longer than a timer of Node can, instead of firing at once', async () => {
  let fired = 0
  const timers = [2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY].map((waitMs) => clock.at(clock.monotonic() + waitMs, () => fired++))
  await clock.sleep(30)
  expect(fired).toBe(0)
  for (const timer of timers) timer.cancel()
})

it('never fires what was cancelled', async () => {
  let fired = 0
  const timer = clock.at(clock.monotonic() + 5, () => fired++)
  timer.cancel()
  timer.cancel()
  await clock.sleep(15)
  expect(fired).toBe(0)
})

it('leaves no listener on a signal it has slept by', async () => {
  const { signal } = new AbortController()
  await clock.sleep(1, signal)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

it('tells time that goes on, and the time of day', async () => {
  const before = clock.monotonic()
  await clock.sleep(2)
  expect(clock.monotonic() - before).toBeGreaterThanOrEqual(2)
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1_000)
})

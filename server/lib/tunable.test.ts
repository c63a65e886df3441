import { expect, it } from 'vitest'
import { createTunable, deriveTunable } from './tunable.ts'

it('tells its watchers of each change at once, and not of the value it has', () => {
  const tunable = createTunable(10)
  const seen: number[] = []
  tunable.watch((value) => seen.push(value), new AbortController().signal)
  expect(seen).toEqual([])
  tunable.set(20)
  expect(tunable.get()).toBe(20)
  tunable.set(20)
  tunable.set(30)
  expect(seen).toEqual([20, 30])
})

it('tells nobody whose signal has aborted', () => {
  const tunable = createTunable('a')
  const seen: string[] = []
  const ending = new AbortController()
  tunable.watch((value) => seen.push(value), ending.signal)
  ending.abort()
  tunable.watch((value) => seen.push(value), ending.signal)
  tunable.set('b')
  expect(seen).toEqual([])
})

it('counts one function that watches twice as two watchers', () => {
  const tunable = createTunable(0)
  let calls = 0
  const count = () => calls++
  const first = new AbortController()
  tunable.watch(count, first.signal)
  tunable.watch(count, new AbortController().signal)
  tunable.set(1)
  expect(calls).toBe(2)
  first.abort()
  tunable.set(2)
  expect(calls).toBe(3)
})

it('tells everyone the newest value last when a watcher sets it', () => {
  const tunable = createTunable(0)
  const { signal } = new AbortController()
  const seen: number[] = []
  tunable.watch((value) => void (value === 1 && tunable.set(2)), signal)
  tunable.watch((value) => seen.push(value), signal)
  tunable.set(1)
  expect(seen.at(-1)).toBe(2)
  expect(tunable.get()).toBe(2)
})

it('a derived one follows its source', () => {
  const source = createTunable(10)
  const half = deriveTunable(source, (value) => value / 2)
  const seen: number[] = []
  half.watch((value) => seen.push(value), new AbortController().signal)
  source.set(20)
  expect([half.get(), seen]).toEqual([10, [10]])
})

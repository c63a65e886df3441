import { expect, it } from 'vitest'
import { yieldToEventLoop } from '../lib/clock.ts'
import { createAdmission } from './admission.ts'

it('lets in those that came first, a few at a turn, and drops those that still wait when it stops', async () => {
  const admission = createAdmission()
  const entered: number[] = []
  for (let number = 0; number < 30; number++) admission.admit(() => entered.push(number))
  expect(entered).toEqual([0])
  await yieldToEventLoop()
  expect(entered).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  admission.stop()
  for (let turn = 0; turn < 3; turn++) await yieldToEventLoop()
  expect(entered).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  admission.admit(() => entered.push(99))
  expect(entered.at(-1)).toBe(99)
})

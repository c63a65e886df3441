import { expect, it } from 'vitest'
import { createFakeClock } from './fake-clock.ts'
import { createSparseLog, SPARSE_LOG_INTERVAL_MS } from './sparse-log.ts'

function start() {
  const clock = createFakeClock()
  const lines: string[] = []
  const log = createSparseLog(clock)
  return { clock, lines, log, note: (kind: string, text: string) => log.note(kind, (count) => lines.push(`${text} x${count}`)) }
}

it('writes the first of a kind at once, then one line per interval with the newest and how many', async () => {
  const { clock, lines, note } = start()
  for (let nth = 1; nth <= 1_000; nth++) note('refused', `peer ${nth}`)
  note('other', 'another')
  expect(lines).toEqual(['peer 1 x1', 'another x1'])
  await clock.advance(SPARSE_LOG_INTERVAL_MS)
  expect(lines.slice(2)).toEqual(['peer 1000 x999'])
  note('refused', 'peer 1001')
  note('refused', 'peer 1002')
  expect(lines).toHaveLength(3)
  await clock.advance(SPARSE_LOG_INTERVAL_MS)
  expect(lines.slice(3)).toEqual(['peer 1002 x2'])
})

it('takes what comes after a quiet interval for a first again, and holds nothing meanwhile', async () => {
  const { clock, lines, note } = start()
  note('refused', 'a')
  await clock.advance(SPARSE_LOG_INTERVAL_MS)
  expect(clock.pending()).toBe(0)
  note('refused', 'b')
  expect(lines).toEqual(['a x1', 'b x1'])
})

it('writes what it held when it stops', () => {
  const { clock, lines, log, note } = start()
  for (const peer of ['a', 'b', 'c']) note('refused', peer)
  log.stop()
  expect(lines).toEqual(['a x1', 'c x2'])
  expect(clock.pending()).toBe(0)
})

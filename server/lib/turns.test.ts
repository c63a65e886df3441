import { describe, expect, it } from 'vitest'
import { createTurns } from './turns.ts'

const forever = new AbortController().signal

describe('turns', () => {
  it('are taken by so many at a time, in the order they were asked for', async () => {
    const turns = createTurns(2)
    const order: string[] = []
    const ends = new Map<string, () => void>()
    const takes = ['a', 'b', 'c', 'd'].map(async (name) => {
      ends.set(name, await turns.take(forever))
      order.push(name)
    })
    await Promise.all(takes.slice(0, 2))
    expect([order, turns.waiting()]).toEqual([['a', 'b'], 2])
    ends.get('b')!()
    ends.get('b')!()
    await takes[2]
    expect([order, turns.waiting()]).toEqual([['a', 'b', 'c'], 1])
    ends.get('a')!()
    await takes[3]
    expect(order).toEqual(['a', 'b', 'c', 'd'])
  })

  it('are given up by who no longer waits', async () => {
    const turns = createTurns(1)
    const end = await turns.take(forever)
    const leaving = new AbortController()
    const given = turns.take(leaving.signal)
    const next = turns.take(forever)
    leaving.abort(new Error('stopped'))
    await expect(given).rejects.toThrow('stopped')
    await expect(turns.take(leaving.signal)).rejects.toThrow('stopped')
    end()
    ;(await next)()
    expect(turns.waiting()).toBe(0)
    ;(await turns.take(forever))()
  })
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDueQueue, type DueItem } from './due-queue.ts'

interface Item extends DueItem {
  readonly name: number
}
const itemOf = (name: number): Item => ({ name, queue: undefined, place: 0, dueAt: 0 })

it('gives items back in order of their due times, whatever was put, moved, removed and rebuilt before', () => {
  const name = fc.integer({ min: 0, max: 19 })
  const moment = fc.integer({ min: 0, max: 50 })
  const command = fc.oneof(
    fc.record({ do: fc.constant('put' as const), name, at: moment }),
    fc.record({ do: fc.constant('remove' as const), name }),
    fc.record({ do: fc.constant('take' as const), at: moment, limit: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ do: fc.constant('rebuild' as const), by: moment }),
  )
  fc.assert(
    fc.property(fc.array(command, { maxLength: 100 }), (commands) => {
      const queue = createDueQueue<Item>()
      const items = Array.from({ length: 20 }, (_, index) => itemOf(index))
      const model = new Map<Item, number>()
      for (const each of commands) {
        switch (each.do) {
          case 'put': {
            const item = items[each.name] as Item
            queue.put(item, each.at)
            model.set(item, each.at)
            break
          }
          case 'remove': {
            const item = items[each.name] as Item
            queue.remove(item)
            model.delete(item)
            break
          }
          case 'take': {
            const due = [...model.values()].filter((at) => at <= each.at).toSorted((a, b) => a - b)
            const taken = queue.takeDue(each.at, each.limit)
            expect(taken.map(({ dueAt }) => dueAt)).toEqual(due.slice(0, each.limit))
            for (const item of taken) expect(model.delete(item)).toBe(true)
            break
          }
          case 'rebuild': {
            // Every third is left out, the others are moved.
            const dueOf = (item: Item) => (item.name % 3 === 0 ? undefined : (item.name * 7 + each.by) % 50)
            queue.rebuild([...model.keys()], dueOf)
            for (const item of model.keys()) {
              const dueAt = dueOf(item)
              if (dueAt === undefined) model.delete(item)
              else model.set(item, dueAt)
            }
          }
        }
        expect(queue.size()).toBe(model.size)
        expect(queue.peekDueAt()).toBe(model.size === 0 ? undefined : Math.min(...model.values()))
      }
    }),
  )
})

it('leaves an item of another queue alone', () => {
  const [one, other] = [createDueQueue<Item>(), createDueQueue<Item>()]
  const item = itemOf(1)
  one.put(item, 5)
  other.remove(item)
  expect(one.takeDue(5, 1)).toEqual([item])
})

import { expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { ResourceKey } from '../model/resource.ts'
import { createMemoryStore } from './memory-store.ts'
import { observedStore } from './observed-store.ts'
import { CONTRACT_INSTANCE, contractKinds } from './testing/contract-kinds.ts'

const key = (name: string): ResourceKey => ({ type: 'Parent', mesh: '', name })
const by = { writer: 'w' }

function make() {
  const clock = createFakeClock()
  const under = createMemoryStore({ clock, kinds: contractKinds, instance: CONTRACT_INSTANCE })
  const slow: typeof under = {
    ...under,
    async get(wanted, options) {
      await clock.sleep(250)
      return under.get(wanted, options)
    },
  }
  const told: string[] = []
  const store = observedStore(slow, { clock, kinds: contractKinds }, ({ operation, type, result, seconds }) =>
    told.push(`${operation} ${type} ${result} ${seconds}`),
  )
  return { clock, store, told }
}

it('tells each operation with its type, its result and how long it took', async () => {
  const { clock, store, told } = make()
  const created = await store.create({ key: key('a'), spec: {} }, by)
  const reading = store.get(key('a'))
  await clock.advance(250)
  await reading
  await store.list({ type: 'Parent' })
  await store.update(created, by)
  await store.update(created, by).catch(() => undefined)
  await store.delete(key('a'), by)
  expect(told).toEqual([
    'create Parent ok 0',
    'get Parent ok 0.25',
    'list Parent ok 0',
    'update Parent ok 0',
    'update Parent conflict 0',
    'delete Parent ok 0',
  ])
})

it('tells each write of a batch by its own result, and all of them when the batch could not be tried', async () => {
  const { store, told } = make()
  const create = (name: string) => ({ kind: 'create', draft: { key: key(name), spec: {} } }) as const
  await store.writeBatch([create('a'), create('a')], by)
  await store.close()
  await store.writeBatch([create('b')], by).catch(() => undefined)
  expect(told).toEqual(['batch Parent ok 0', 'batch Parent already_exists 0', 'batch Parent unavailable 0'])
})

it('has one word for all types that nobody declared', async () => {
  const { store, told } = make()
  await store.list({ type: 'made up by a caller' }).catch(() => undefined)
  expect(told).toEqual(['list unknown invalid 0'])
})

import { beforeEach, describe, expect, it } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { ResourceDraft, ResourceKey } from '../model/resource.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore, Write } from '../store/resource-store.ts'
import { applyChanges, type ApplyDeps, type IncomingChange } from './apply-resources.ts'
import { checkSynced } from './check-synced.ts'

const kinds = await loadKinds()
const byOperator = { writer: 'operator' }
const mesh = (name: string, spec: object = {}): ResourceDraft => ({ key: { type: 'Mesh', mesh: '', name }, spec })
const put = (draft: ResourceDraft): IncomingChange => ({ kind: 'put', draft })
const remove = (key: ResourceKey): IncomingChange => ({ kind: 'remove', key })

let clock: FakeClock
let store: ResourceStore
let writes: Write[]
/** Told of each write before it goes. */
let before: (write: Write) => Promise<void>

beforeEach(() => {
  clock = createFakeClock()
  store = createMemoryStore({ clock, kinds, instance: 'zone' })
  writes = []
  before = () => Promise.resolve()
})

/** Time passes until it is done. */
async function passing<T>(work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => (isDone = true))
  done.catch(() => undefined)
  for (let lap = 0; lap < 50 && !isDone; lap++) await clock.advance(50)
  return done
}
const apply = (changes: readonly IncomingChange[], over: Partial<ApplyDeps> = {}) =>
  passing(
    applyChanges(
      {
        clock,
        random: () => 0.5,
        store: {
          list: store.list,
          async writeBatch(batch, options) {
            for (const write of batch) {
              writes.push(write)
              await before(write)
            }
            return store.writeBatch(batch, options)
          },
        },
        writer: 'kds-sync',
        check: (draft) => checkSynced(kinds, draft),
        ...over,
      },
      changes,
      new AbortController().signal,
    ),
  )
const meshes = async () => (await store.list({ type: 'Mesh' })).items.map(({ key }) => key.name)

describe('what comes from the other control plane', () => {
  it('is stored but for what is refused, which is named with the reason; removals come last', async () => {
    await store.create(mesh('mesh-3'), byOperator)
    await store.create(mesh('mesh-4'), byOperator)
    const admit: ApplyDeps['admit'] = ({ key }) => Promise.resolve(key.name === 'mesh-2' ? 'limit reached' : undefined)
    const changes = [remove(mesh('mesh-4').key), put(mesh('mesh-1')), put(mesh('mesh-2')), put(mesh('mesh-3', { changed: true }))]
    expect(await apply(changes, { admit })).toEqual([{ key: mesh('mesh-2').key, reason: 'limit reached' }])
    expect(await meshes()).toEqual(['mesh-1', 'mesh-3'])
    expect(writes.map(({ kind }) => kind)).toEqual(['create', 'update', 'delete'])
  })

  it('is no refusal when the store can’t answer: then all of it comes again', async () => {
    before = () => Promise.reject(new CoreError('unavailable', 'connection refused'))
    await expect(apply([put(mesh('a'))])).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('is refused by name when its owner is not there, or its content is not valid', async () => {
    const policy = (spec: object, of: string): ResourceDraft => ({ key: { type: 'MeshTimeout', mesh: of, name: 't' }, spec })
    const to = [{ targetRef: { kind: 'Mesh' } }]
    await store.create(mesh('here'), byOperator)
    expect(await apply([put(policy({ to }, 'gone')), put(policy({}, 'here'))])).toEqual([
      { key: policy({}, 'here').key, reason: expect.stringContaining("at least one of 'to', 'from' or 'rules'") as string },
      {
        key: policy({}, 'gone').key,
        reason: 'MeshTimeout gone/t belongs to Mesh gone, which is not there',
        missingOwner: { type: 'Mesh', mesh: '', name: 'gone' },
      },
    ])
  })

  it('is not written when it is there already, and keeps the status that is local', async () => {
    const made = await store.create({ ...mesh('a', { x: 1 }), status: { seen: true } }, byOperator)
    expect(await apply([put(mesh('a', { x: 1 }))])).toEqual([])
    expect(writes).toEqual([])
    await apply([put(mesh('a', { x: 2 }))])
    expect(await store.get(made.key)).toMatchObject({ spec: { x: 2 }, status: { seen: true } })
  })

  it('may be gone already when it is to be removed', async () => {
    expect(await apply([remove(mesh('never').key)])).toEqual([])
    expect(await apply([remove(mesh('').key), remove({ type: 'Mesh', mesh: 'default', name: 'in-a-mesh' })])).toEqual([])
  })

  it('that meets another write is made again on what is there by then', async () => {
    await store.create(mesh('a'), byOperator)
    let times = 0
    before = async ({ kind }) => {
      if (kind !== 'update' || times++ > 0) return
      const present = await store.get<object>(mesh('a').key)
      await store.update({ ...present, labels: { by: 'another' } }, byOperator)
    }
    expect(await apply([put(mesh('a', { x: 1 })), put(mesh('b')), put(mesh('c'))])).toEqual([])
    expect(writes).toHaveLength(4)
    expect(await store.get(mesh('a').key)).toMatchObject({ spec: { x: 1 } })
  })

  it('that meets another write each time is told as a conflict after four attempts, not skipped', async () => {
    await store.create(mesh('a'), byOperator)
    before = async ({ kind }) => {
      if (kind !== 'update') return
      const present = await store.get<object>(mesh('a').key)
      await store.update({ ...present, labels: { times: String(writes.length) } }, byOperator)
    }
    await expect(apply([put(mesh('a', { x: 1 }))])).rejects.toMatchObject({ code: 'conflict' })
    expect(writes).toHaveLength(4)
  })
})

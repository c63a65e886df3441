import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { byOperator, contentOf, meshKey, startGlobal, startZone, timeout } from './testing/two-ends.ts'

const TYPES = ['Mesh', 'MeshTimeout', 'Dataplane']
const meshes = ['m1', 'm2']
const names = ['a', 'b', 'c']

const command = fc.oneof(
  fc.record({ do: fc.constant('mesh' as const), mesh: fc.constantFrom(...meshes), on: fc.boolean() }),
  fc.record({
    do: fc.constant('policy' as const),
    mesh: fc.constantFrom(...meshes),
    name: fc.constantFrom(...names),
    seconds: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({ do: fc.constant('dataplane' as const), mesh: fc.constantFrom(...meshes), name: fc.constantFrom(...names), on: fc.boolean() }),
  fc.record({ do: fc.constant('refuse' as const), name: fc.constantFrom(...names), on: fc.boolean() }),
  fc.record({ do: fc.constant('break' as const), on: fc.boolean() }),
  fc.record({ do: fc.constant('pause' as const), ms: fc.integer({ min: 1, max: 40 }) }),
)

const quietly = (work: Promise<unknown>) => work.then(undefined, () => undefined)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** 0 seconds deletes it. */
async function put(store: ResourceStore, mesh: string, { name, seconds }: { readonly name: string; readonly seconds: number }) {
  const draft = timeout(name, mesh, `${seconds}s`)
  const present = await store.get(draft.key).catch(() => undefined)
  if (seconds === 0) return quietly(store.delete(draft.key, byOperator))
  return quietly(present === undefined ? store.create(draft, byOperator) : store.update({ ...present, spec: draft.spec }, byOperator))
}

it('whatever happens on either end and between, once it is quiet both have the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 25 }), async (commands) => {
      const refused = new Set<string>()
      let isBroken = false
      const tempo = { flushIntervalMs: 20, nackBackoffMs: 50, fullResyncMs: 60_000 }
      const global = await startGlobal(tempo)
      const zone = await startZone(global.address, 'east', {
        ...tempo,
        admit: ({ key, labels }) => Promise.resolve(refused.has(labels?.['kuma.io/display-name'] ?? key.name) ? 'not this one' : undefined),
        wrap: (store) => ({
          ...store,
          writeBatch: (...args) =>
            isBroken ? Promise.reject(new CoreError('unavailable', 'the disk is full')) : store.writeBatch(...args),
        }),
      })
      try {
        for (const each of commands) {
          if (each.do === 'mesh')
            await quietly(
              each.on
                ? global.store.create({ key: meshKey(each.mesh), spec: {} }, byOperator)
                : global.store.delete(meshKey(each.mesh), byOperator),
            )
          if (each.do === 'policy') await put(global.store, each.mesh, each)
          if (each.do === 'dataplane') {
            const key = { type: 'Dataplane', mesh: each.mesh, name: each.name }
            const spec = { networking: { inbound: [{ tags: { 'kuma.io/service': 'web' }, port: 80 }], address: '10.0.0.1' } }
            await quietly(each.on ? zone.store.create({ key, spec }, byOperator) : zone.store.delete(key, byOperator))
          }
          if (each.do === 'refuse' && each.on) refused.add(each.name)
          if (each.do === 'refuse' && !each.on) refused.delete(each.name)
          if (each.do === 'break') isBroken = each.on
          if (each.do === 'pause') await pause(each.ms)
        }
        refused.clear()
        isBroken = false
        await vi.waitFor(async () => expect(await contentOf(zone.store, TYPES)).toEqual(await contentOf(global.store, TYPES)), {
          timeout: 8_000,
          interval: 20,
        })
        await vi.waitFor(() => expect(global.sessions.list().flatMap((row) => row.refused)).toEqual([]), { timeout: 8_000, interval: 20 })
      } finally {
        await zone.stop()
        await global.stop()
      }
    }),
    { numRuns: 40, endOnFailure: true },
  )
}, 120_000)

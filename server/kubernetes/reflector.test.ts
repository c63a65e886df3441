import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import type { KubeObject } from './kube-object.ts'
import { createReflector, type ReflectorChange, UnreadableObject } from './reflector.ts'

const object = (name: string, resourceVersion: string, uid = `uid-${name}`): KubeObject => ({ metadata: { name, resourceVersion, uid } })

function start() {
  const clock = createFakeClock()
  /** What is kept: how many versions of the object were seen. */
  const reflector = createReflector<number>(clock, { digest: (_, before) => (before ?? 0) + 1 })
  const told: string[] = []
  const inWords = (change: ReflectorChange<number>) =>
    change.kind === 'set'
      ? `${change.before === undefined ? 'added' : 'changed'} ${change.name}@${change.entry.version} (${change.entry.value})`
      : `deleted ${change.name}@${change.before.version}`
  reflector.onChange((change) => told.push(inWords(change)))
  return { reflector, told, writer: reflector.writer }
}

describe('reflector', () => {
  it('tells each change once, and nothing of a version it has', () => {
    const { writer, told } = start()
    expect(writer.apply('added', object('a', '9'))).toBe('added')
    expect(writer.apply('modified', object('a', '10'))).toBe('modified')
    expect(writer.apply('modified', object('a', '10'))).toBe('unchanged')
    expect(writer.apply('deleted', object('a', '11'))).toBe('deleted')
    expect(writer.apply('deleted', object('a', '11'))).toBe('unchanged')
    expect(told).toEqual(['added a@9 (1)', 'changed a@10 (2)', 'deleted a@11'])
  })

  it('tells versions apart that are equal as numbers in JavaScript', () => {
    const { writer } = start()
    writer.apply('added', object('a', '18014398509481984'))
    expect(writer.apply('modified', object('a', '18014398509481985'))).toBe('modified')
  })

  it('keeps the old copy for readers until the new one is whole, then tells deletes with the last known state and changes alone', async () => {
    const { reflector, writer, told } = start()
    for (const name of ['a', 'b', 'c']) writer.apply('added', object(name, '1'))
    told.length = 0
    const relist = writer.relist()
    relist.add(object('a', '1'))
    relist.add(object('c', '2'))
    relist.add(object('d', '1'))
    expect([...reflector.entries().keys()]).toEqual(['a', 'b', 'c'])
    await relist.swap()
    expect([...reflector.entries().keys()]).toEqual(['a', 'c', 'd'])
    expect(told).toEqual(['deleted b@1', 'changed c@2 (2)', 'added d@1 (1)'])
  })

  it('lets an object of another uid begin without a past', () => {
    const { writer, told } = start()
    writer.apply('added', object('a', '1'))
    writer.apply('modified', object('a', '2', 'another'))
    expect(told.at(-1)).toBe('changed a@2 (1)')
  })

  it('names what it cannot digest, and keeps the rest', () => {
    const reflector = createReflector<number>(createFakeClock(), {
      digest() {
        throw new TypeError('no digest')
      },
    })
    expect(() => reflector.writer.apply('added', object('a', '1'))).toThrow(UnreadableObject)
    expect(reflector.writer.size()).toBe(0)
  })

  it('is equal to what was listed after any events and relists, and its listeners know as much', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd')
    const step = fc.oneof(
      fc.record({ kind: fc.constantFrom('added' as const, 'modified' as const, 'deleted' as const), name, version: fc.nat(5) }),
      fc.record({
        kind: fc.constant('relist' as const),
        objects: fc.uniqueArray(fc.tuple(name, fc.nat(5)), { selector: ([each]) => each }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { reflector, writer } = start()
        const truth = new Map<string, string>()
        const heard = new Map<string, string>()
        reflector.onChange((change) => {
          if (change.kind === 'set') heard.set(change.name, change.entry.version)
          else expect(heard.delete(change.name)).toBe(true)
        })
        for (const each of steps) {
          if (each.kind === 'relist') {
            const relist = writer.relist()
            truth.clear()
            for (const [listed, version] of each.objects) {
              relist.add(object(listed, String(version)))
              truth.set(listed, String(version))
            }
            await relist.swap()
          } else {
            writer.apply(each.kind, object(each.name, String(each.version)))
            if (each.kind === 'deleted') truth.delete(each.name)
            else truth.set(each.name, String(each.version))
          }
          const copy = Object.fromEntries([...reflector.entries()].map(([key, { version }]) => [key, version]))
          expect(copy).toEqual(Object.fromEntries(truth))
          expect(Object.fromEntries(heard)).toEqual(copy)
        }
      }),
      { numRuns: 60 },
    )
  })
})

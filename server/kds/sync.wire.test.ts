import { CoreError } from '../lib/errors.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openRawZone } from './testing/raw-peer.ts'
import { byOperator, contentOf, type Global, meshKey, protos, startGlobal, startZone, timeout, type ZoneEnd } from './testing/two-ends.ts'

const POLICIES = ['Mesh', 'MeshTimeout', 'MeshRetry', 'MeshCircuitBreaker']
const stopped: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of stopped.splice(0).toReversed()) await each.stop()
})
const started = <T extends { stop(): Promise<void> }>(each: T): T => {
  stopped.push(each)
  return each
}
const global = async (...args: Parameters<typeof startGlobal>): Promise<Global> => started(await startGlobal(...args))
const zone = async (...args: Parameters<typeof startZone>): Promise<ZoneEnd> => started(await startZone(...args))
const soon = (check: () => unknown) => vi.waitFor(check, { timeout: 5_000, interval: 10 })
const isSame = (a: Global, b: ZoneEnd) =>
  soon(async () => expect(await contentOf(b.store, POLICIES)).toEqual(await contentOf(a.store, POLICIES)))

describe('a global and its zones', () => {
  it('have the same once something is made, changed or deleted on the global', async () => {
    const g = await global()
    await g.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    await g.store.create(timeout('before'), byOperator)
    const east = await zone(g.address, 'east')
    await isSame(g, east)
    const made = await g.store.create(timeout('slow'), byOperator)
    await isSame(g, east)
    await g.store.update({ ...made, spec: timeout('slow', 'demo', '9s').spec }, byOperator)
    await isSame(g, east)
    await g.store.delete(meshKey('demo'), byOperator)
    await soon(async () => expect(await contentOf(east.store, POLICIES)).toEqual([]))
    expect(east.ends).toEqual([])
  })

  it('sync a type of which there was none when they connected', async () => {
    const g = await global()
    await g.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    const east = await zone(g.address, 'east')
    await isSame(g, east)
    await g.store.create({ key: { type: 'MeshTrace', mesh: 'demo', name: 'all' }, spec: { default: {} } }, byOperator)
    await soon(async () => expect(await contentOf(east.store, ['MeshTrace'])).toEqual(['MeshTrace demo/all {"default":{}}']))
    expect(east.ends).toEqual([])
  })

  it('are not held up by a zone that does not read, which gets the newest once it does and not all there was meanwhile', async () => {
    const g = await global({ flushIntervalMs: 1 })
    await g.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    const large = (mark: string) => ({ default: { mark, filling: 'x'.repeat(200_000) } })
    const key = { type: 'MeshTrace', mesh: 'demo', name: 'large' }
    let made = await g.store.create({ key, spec: large('first') }, byOperator)
    const slow = openRawZone(protos, g.address, { zone: 'slow' })
    stopped.push({ stop: () => Promise.resolve(slow.cut()) })
    slow.request({ node: { id: 'slow' }, type_url: 'MeshTrace', resource_names_subscribe: ['*'] })
    await soon(() => expect(slow.responses).toHaveLength(1))
    slow.pause()
    const other = await zone(g.address, 'other')
    for (let nth = 1; nth <= 100; nth++) {
      made = await g.store.update({ ...made, spec: large(`nth ${nth}`) }, byOperator)
      // Each is on its way before the next is made.
      await soon(async () => expect(await contentOf(other.store, ['MeshTrace'])).toMatchObject([expect.stringContaining(`nth ${nth}"`)]))
    }
    slow.resume()
    await soon(() => expect(slow.responses.at(-1)?.resources[0]?.resource?.value.includes('nth 100')).toBe(true))
    expect(slow.responses.length).toBeLessThan(40)
  })

  it('keep apart what two zones call by one name', async () => {
    const g = await global()
    await g.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    const ends = [await zone(g.address, 'east'), await zone(g.address, 'west')]
    const dataplane = (address: string) => ({
      key: { type: 'Dataplane', mesh: 'demo', name: 'web' },
      spec: { networking: { address, inbound: [{ port: 80, tags: { 'kuma.io/service': 'web' } }], outbound: [] } },
    })
    for (const [index, end] of ends.entries()) {
      await soon(async () => expect(await end.store.get(meshKey('demo'))).toBeDefined())
      await end.store.create(dataplane(`10.0.0.${index}`), byOperator)
    }
    await soon(async () => {
      const { items } = await g.store.list<{ networking: { address: string } }>({ type: 'Dataplane' })
      expect(items.map(({ labels, spec, owner }) => [labels['kuma.io/zone'], spec.networking.address, owner?.type])).toEqual(
        expect.arrayContaining([
          ['east', '10.0.0.0', 'Zone'],
          ['west', '10.0.0.1', 'Zone'],
        ]),
      )
    })
    await ends[0]!.store.delete({ type: 'Dataplane', mesh: 'demo', name: 'web' }, byOperator)
    await soon(async () => expect((await g.store.list({ type: 'Dataplane' })).items).toHaveLength(1))
  })
})

describe('what a zone refuses', () => {
  const named = (names: readonly string[]) =>
    names.map((name) => ({ type: 'MeshTimeout', name: expect.stringMatching(new RegExp(`^${name}-`)) as string }))
  const rowsOf = (g: Global, direction: 'down' | 'up') => g.sessions.list().filter((row) => row.direction === direction)

  it('by its webhook is named with the reason, the rest of the batch is stored, and other types are not delayed', async () => {
    let isRefusing = true
    const g = await global({ nackBackoffMs: 1_000 })
    await g.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    const admit = ({ key }: { readonly key: { readonly name: string } }) =>
      Promise.resolve(isRefusing && key.name.startsWith('bad') ? 'limit reached' : undefined)
    const east = await zone(g.address, 'east', { admit, nackBackoffMs: 200 })
    await isSame(g, east)
    await g.store.create(timeout('bad'), byOperator)
    await g.store.create(timeout('good'), byOperator)
    await soon(() =>
      expect(rowsOf(g, 'down')[0]?.refused).toMatchObject([{ ...named(['bad'])[0], reason: 'limit reached', oneOf: 1, kind: 'refused' }]),
    )
    const retry = { key: { type: 'MeshRetry', mesh: 'demo', name: 'r' }, spec: { to: [{ targetRef: { kind: 'Mesh' } }] } }
    await g.store.create(retry, byOperator)
    await soon(async () =>
      expect(await contentOf(east.store, ['MeshTimeout', 'MeshRetry'])).toEqual([
        expect.stringContaining('MeshRetry demo/r'),
        expect.stringContaining('MeshTimeout demo/good'),
      ]),
    )
    expect(rowsOf(g, 'down')[0]).toMatchObject({ retryAt: expect.any(Number) as number })
    expect(east.sessions.list().find(({ direction }) => direction === 'down')?.refused).toMatchObject([{ reason: 'limit reached' }])
    isRefusing = false
    await isSame(g, east)
    await soon(() => expect(rowsOf(g, 'down')[0]?.refused).toEqual([]))
    expect(rowsOf(g, 'down')[0]?.types.find(({ type }) => type === 'MeshTimeout')).toMatchObject({
      rejection: null,
      recovered: { reason: expect.stringContaining('limit') as string },
    })
    expect(east.ends).toEqual([])
  })

  it('is sent again at once when an operator says so', async () => {
    let isRefusing = true
    const g = await global({ nackBackoffMs: 600_000 })
    await g.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    await g.store.create(timeout('bad'), byOperator)
    const admit = () => Promise.resolve(isRefusing ? 'not now' : undefined)
    const east = await zone(g.address, 'east', { admit, nackBackoffMs: 600_000 })
    await soon(() => expect(rowsOf(g, 'down')[0]?.refused.length).toBeGreaterThan(0))
    isRefusing = false
    g.sessions.resync(rowsOf(g, 'down')[0]!.id)
    await isSame(g, east)
  })

  it('a store that does not answer is no refusal: the stream ends, and comes again', async () => {
    let isDown = true
    const g = await global()
    await g.store.create({ key: meshKey('demo'), spec: {} }, byOperator)
    const east = await zone(g.address, 'east', {
      wrap: (store) => ({
        ...store,
        writeBatch: (...args) => (isDown ? Promise.reject(new CoreError('unavailable', 'the disk is full')) : store.writeBatch(...args)),
      }),
    })
    await soon(() => expect(east.ends.length).toBeGreaterThan(1))
    expect(east.ends[0]).toMatchObject({ message: 'the disk is full' })
    isDown = false
    await isSame(g, east)
    expect(rowsOf(g, 'down').flatMap(({ refused }) => refused)).toEqual([])
  })
})

import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CLUSTER, ENDPOINT, LISTENER, ROUTE } from './resource-types.ts'
import { nodeOf, openRaw, plainDataplane, type RawStream } from './testing/raw-client.ts'
import { startXds } from './testing/xds-bench.ts'

type Xds = Awaited<ReturnType<typeof startXds>>
let xds: Xds
const opened: RawStream[] = []
afterEach(async () => {
  for (const stream of opened.splice(0)) stream.cancel()
  await xds.stop()
})
const open = () => {
  const stream = openRaw(xds.protos, xds.server.address())
  opened.push(stream)
  return stream
}
const keyOf = (name: string) => ({ type: 'Dataplane', mesh: 'default', name })
const create = (name: string, service: string) =>
  xds.store.create({ key: keyOf(name), spec: plainDataplane(service, 18_100) }, { writer: 'test' })
const caller = nodeOf('default.caller', { networking: { address: '127.0.0.1', inbound: [], outbound: [] } })

describe('a gRPC client that came before its backend', () => {
  it('is sent the listener, route, cluster and endpoints it waits for as soon as there is one', async () => {
    xds = await startXds()
    const stream = open()
    const types = [LISTENER, ROUTE, ENDPOINT, CLUSTER]
    for (const [index, type_url] of types.entries())
      stream.write({ type_url, resource_names: ['backend'], ...(index === 0 && { node: caller }) })
    // Types with a full set say that there is none; the others have no way to.
    await stream.answer(1)
    expect(stream.answers.map(({ type_url, resources }) => [type_url, resources.length])).toEqual([
      [LISTENER, 0],
      [CLUSTER, 0],
    ])
    await create('backend-1', 'backend')
    await stream.answer(5)
    expect(stream.answers.slice(2).map(({ type_url, resources }) => [type_url, resources.length])).toEqual([
      [CLUSTER, 1],
      [ENDPOINT, 1],
      [LISTENER, 1],
      [ROUTE, 1],
    ])
  })
})

describe('a data plane', () => {
  it('is not troubled by changes of services it does not call', async () => {
    xds = await startXds()
    const stream = open()
    stream.write({ type_url: CLUSTER, node: nodeOf('default.web', plainDataplane('web', 18_001)) })
    await stream.answer(0)
    stream.write({ type_url: ENDPOINT, resource_names: ['backend'] })
    await stream.answer(1)
    await create('else-1', 'elsewhere')
    await create('backend-1', 'backend')
    const { type_url } = await stream.answer(2)
    expect(type_url).toBe(ENDPOINT)
    expect(stream.answers).toHaveLength(3)
  })

  it('gets the newest of what changed within its refresh interval, once; a shorter interval is in effect at once', async () => {
    xds = await startXds({ refreshIntervalMs: 600_000 })
    const stream = open()
    stream.write({ type_url: ENDPOINT, resource_names: ['backend'], node: nodeOf('default.web', plainDataplane('web', 18_001)) })
    await stream.answer(0)
    await create('backend-1', 'backend')
    expect((await stream.answer(1)).resources).toHaveLength(1)
    for (const name of ['backend-2', 'backend-3', 'backend-4']) await create(name, 'backend')
    const before = await stream.answer(1)
    xds.refreshIntervalMs.set(100)
    const after = await stream.answer(2)
    expect(after.version_info).not.toBe(before.version_info)
    await vi.waitFor(() => expect(stream.answers).toHaveLength(3))
  })

  it('that connects before the Dataplanes are read waits for them, so that nothing it holds is taken away', async () => {
    xds = await startXds({ isDirectoryReady: false })
    await create('backend-1', 'backend')
    const stream = open()
    stream.write({ type_url: ENDPOINT, resource_names: ['backend'], node: nodeOf('default.web', plainDataplane('web', 18_001)) })
    await vi.waitFor(async () => expect(await xds.store.get(keyOf('web'))).toBeDefined())
    expect(stream.answers).toEqual([])
    xds.startDirectory()
    const [assignment] = (await stream.answer(0)).resources
    expect(assignment?.value?.toString('latin1')).toContain('127.0.0.1')
  })

  it('on two streams is removed when the last of them ends, whichever brought the Dataplane', async () => {
    xds = await startXds({ deregistrationDelayMs: 100 })
    const [bringing, other] = [open(), open()]
    bringing.write({ type_url: CLUSTER, node: nodeOf('default.web', plainDataplane('web', 18_001)) })
    await bringing.answer(0)
    other.write({ type_url: CLUSTER, node: { id: 'default.web' } })
    expect((await other.answer(0)).resources.length).toBeGreaterThan(0)
    bringing.cancel()
    await bringing.ended
    await vi.waitFor(() => expect(xds.sessions.list()).toHaveLength(1))
    expect(xds.server.sizes().removals).toBe(0)
    other.cancel()
    await vi.waitFor(() => expect(xds.store.get(keyOf('web'))).rejects.toMatchObject({ code: 'not_found' }))
  })
})

describe('a shutdown', () => {
  it('removes nobody, though the last flush takes longer than the delay of a removal', async () => {
    xds = await startXds({ deregistrationDelayMs: 0, lastFlushMs: 200 })
    const stream = open()
    stream.write({ type_url: CLUSTER, node: nodeOf('default.web', plainDataplane('web', 18_001)) })
    await stream.answer(0)
    const deleted: string[] = []
    const { delete: really } = xds.store
    xds.store.delete = (key, options) => {
      deleted.push(key.name)
      return really(key, options)
    }
    await xds.stop()
    expect((await stream.ended).code).toBe(status.UNAVAILABLE)
    expect(deleted).toEqual([])
  })
})

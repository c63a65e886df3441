import { beforeAll, describe, expect, it } from 'vitest'
import { yieldToEventLoop } from '../lib/clock.ts'
import { createFakeClock } from '../lib/fake-clock.ts'
import { loadKinds } from '../model/load-kinds.ts'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import type { Resource } from '../model/resource.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceChange } from '../store/resource-store.ts'
import type { ResourceBuilder } from './build-resources.ts'
import { createMeshDirectory, type MeshChange, type MeshDirectoryDeps } from './mesh-directory.ts'
import { CLUSTER, ENDPOINT, LISTENER, ROUTE, type XdsResource } from './resource-types.ts'

/** Says in words what would be built. */
const builder: ResourceBuilder = {
  serviceCluster: (service, { protocol, mesh }) => said(service, `${protocol}${mesh === undefined ? '' : ' mtls'}`),
  endpoints: (service, endpoints) => said(service, endpoints.map(({ address, port }) => `${address}:${port}`).join(' ')),
  apiListener: (service) => said(service, 'api'),
  serviceRoute: (service) => said(service, 'api'),
  localCluster: ({ port }) => said(`local:${port}`, 'static'),
  inboundListener: (_dataplane, { port }, mesh) => said(`inbound:${port}`, mesh === undefined ? 'plain' : 'mtls'),
  outboundListener: ({ port }, protocol) => said(`outbound:${port}`, protocol),
  outboundRoute: (service) => said(`outbound:${service}`, 'route'),
}
function said(name: string, version: string): XdsResource {
  return { name, version, needs: [], any: { type_url: '', value: Buffer.alloc(0) } }
}

let kinds: Awaited<ReturnType<typeof loadKinds>>
beforeAll(async () => {
  kinds = await loadKinds()
})
const keyOf = (name: string, mesh = 'default') => ({ type: 'Dataplane', mesh, name })
const serving = (service: string, port: number, over: { readonly protocol?: string; readonly state?: 'Ready' | 'NotReady' } = {}) => ({
  port,
  tags: { 'kuma.io/service': service, ...(over.protocol !== undefined && { 'kuma.io/protocol': over.protocol }) },
  ...(over.state !== undefined && { state: over.state }),
})
const calling = (service: string, port = 19_000) => ({ port, tags: { 'kuma.io/service': service } })
const dataplane = (networking: Partial<Dataplane['networking']>): Dataplane => ({
  networking: { address: '10.0.0.1', inbound: [], outbound: [], ...networking },
})

async function start(over: Partial<MeshDirectoryDeps> = {}) {
  const store = createMemoryStore({ clock: createFakeClock(), kinds, instance: 'test' })
  for (const name of ['default', 'other']) await store.create({ key: { type: 'Mesh', mesh: '', name }, spec: {} }, { writer: 'test' })
  const directory = createMeshDirectory({ store, builder, ...over })
  const ending = new AbortController()
  const changes: MeshChange[] = []
  directory.onChange((change) => changes.push(change), ending.signal)
  const running = directory.run(ending.signal)
  await directory.ready()
  return {
    store,
    directory,
    changes,
    create: (name: string, spec: Dataplane, mesh?: string) =>
      store.create({ key: keyOf(name, mesh), spec }, { writer: 'test' }).then(settled),
    seen(name: string, type: string, by?: string) {
      const present = directory.presentFor(keyOf(name), type)
      if (by !== undefined) return present.find(by)?.version
      return [...present.own.values()].map((each) => `${each.name}=${each.version}`)
    },
    async stop() {
      ending.abort()
      await running
      await store.close()
    },
  }
}
/** The feed is read by promises alone. */
async function settled<T>(value: T): Promise<T> {
  await yieldToEventLoop()
  return value
}

describe('what a data plane sees', () => {
  it('is its own listeners and clusters, and the clusters, endpoints and routes of what it calls', async () => {
    const { create, seen, stop } = await start()
    await create('web', dataplane({ inbound: [serving('web', 80)], outbound: [calling('backend')] }))
    await create('b-2', dataplane({ address: '10.0.0.3', inbound: [serving('backend', 90)] }))
    await create('b-1', dataplane({ address: '10.0.0.2', inbound: [serving('backend', 90)] }))
    expect(seen('web', LISTENER)).toEqual(['inbound:80=plain', 'outbound:19000=http'])
    expect(seen('web', CLUSTER)).toEqual(['local:80=static', 'backend=http'])
    expect(seen('web', ENDPOINT)).toEqual(['backend=10.0.0.2:90 10.0.0.3:90'])
    expect(seen('web', ROUTE)).toEqual(['outbound:backend=route'])
    await stop()
  })

  it('is by name every service of its mesh, of no other mesh, and without what is not ready', async () => {
    const { create, seen, stop } = await start()
    await create('caller', dataplane({}))
    await create('b-1', dataplane({ inbound: [serving('backend', 90), serving('backend', 91, { state: 'NotReady' })] }))
    await create('b-2', dataplane({ inbound: [serving('elsewhere', 90)] }), 'other')
    expect(seen('caller', LISTENER)).toEqual([])
    expect(seen('caller', LISTENER, 'backend')).toBe('api')
    expect(seen('caller', ENDPOINT, 'backend')).toBe('10.0.0.1:90')
    expect(seen('caller', ENDPOINT, 'elsewhere')).toBeUndefined()
    expect(seen('nobody', LISTENER, 'backend')).toBeUndefined()
    await stop()
  })

  it('is the protocol all inbounds of a service understand, whatever the order they came in', async () => {
    for (const order of [
      ['http', 'grpc'],
      ['grpc', 'http'],
    ]) {
      const { create, seen, stop } = await start()
      await create('caller', dataplane({ outbound: [calling('backend')] }))
      for (const [index, protocol] of order.entries())
        await create(`b-${index}`, dataplane({ inbound: [serving('backend', 90, { protocol })] }))
      expect(seen('caller', CLUSTER)).toEqual(['backend=http'])
      await create('b-tcp', dataplane({ inbound: [serving('backend', 90, { protocol: 'tcp' })] }))
      expect(seen('caller', LISTENER)).toEqual(['outbound:19000=tcp'])
      await stop()
    }
  })
})

describe('a change', () => {
  it('names the data plane itself and the services whose endpoints it moves, and nobody else', async () => {
    const { create, changes, store, stop } = await start()
    await create('caller', dataplane({ outbound: [calling('backend')] }))
    const backend = await create('b-1', dataplane({ inbound: [serving('backend', 90)] }))
    changes.length = 0
    await store.update({ ...backend, spec: dataplane({ address: '10.0.0.9', inbound: [serving('backend', 90)] }) }, { writer: 'test' })
    await settled(undefined)
    expect(changes).toEqual([{ mesh: 'default', names: ['b-1'], services: ['backend'] }])
    await stop()
  })

  it('of a service that begins to be there concerns whoever waits for it by name', async () => {
    const { create, changes, stop } = await start()
    await create('caller', dataplane({ outbound: [calling('backend')] }))
    expect(changes.at(-1)).toMatchObject({ services: ['backend'] })
    await stop()
  })

  it('of a protocol concerns all callers of the service', async () => {
    const { create, changes, seen, stop } = await start()
    await create('caller', dataplane({ outbound: [calling('backend')] }))
    expect(seen('caller', LISTENER)).toEqual(['outbound:19000=http'])
    await create('b-1', dataplane({ inbound: [serving('backend', 90, { protocol: 'tcp' })] }))
    expect(changes.at(-1)?.names.toSorted()).toEqual(['b-1', 'caller'])
    expect(seen('caller', LISTENER)).toEqual(['outbound:19000=tcp'])
    await stop()
  })

  it('of nothing that is sent tells nobody', async () => {
    const { create, changes, store, stop } = await start()
    const web = await create('web', dataplane({ inbound: [serving('web', 80)] }))
    changes.length = 0
    await store.update({ ...web, spec: { ...web.spec, session: { id: 's2', instance: 'i' } } }, { writer: 'test' })
    await settled(undefined)
    expect(changes).toEqual([])
    await stop()
  })

  it('of a mesh to mTLS and back concerns all of it; a mesh that goes is forgotten', async () => {
    const { create, seen, store, directory, changes, stop } = await start()
    await create('web', dataplane({ inbound: [serving('web', 80)] }))
    const key = { type: 'Mesh', mesh: '', name: 'default' }
    await store.update({ ...(await store.get(key)), spec: { mtls: { enabledBackend: 'builtin' } } }, { writer: 'test' }).then(settled)
    expect(directory.isSecure('default')).toBe(true)
    expect(seen('web', LISTENER)).toEqual(['inbound:80=mtls'])
    expect(changes.at(-1)).toEqual({ mesh: 'default', names: ['web'], services: ['web'] })
    await store.delete(key, { writer: 'test' }).then(settled)
    expect(directory.isSecure('default')).toBe(false)
    expect(seen('web', LISTENER)).toEqual([])
    await stop()
  })

  it('that removes the last data plane of a service takes the service away', async () => {
    const { create, seen, store, stop } = await start()
    await create('caller', dataplane({}))
    await create('b-1', dataplane({ inbound: [serving('backend', 90)] }))
    await store.delete(keyOf('b-1'), { writer: 'test' }).then(settled)
    expect(seen('caller', LISTENER, 'backend')).toBeUndefined()
    await stop()
  })
})

describe('what has just been registered', () => {
  const resource = (version: string, port: number, modifiedAt = 1_000): Resource<Dataplane> => ({
    key: keyOf('web'),
    version: version as Resource['version'],
    createdAt: 0,
    modifiedAt,
    labels: {},
    writer: { name: 'lifecycle', instance: 'test' },
    spec: dataplane({ inbound: [serving('web', port)] }),
  })

  /** A directory whose feed says what the test says. */
  function fed() {
    const waiting: ResourceChange[] = []
    let wake: (() => void) | undefined
    let pages = () => Promise.resolve({ items: [] as Resource[] })
    const directory = createMeshDirectory({
      builder,
      store: {
        async *changes(signal) {
          while (!signal.aborted) {
            const change = waiting.shift()
            if (change !== undefined) yield change
            else
              await new Promise<void>((resolve) => {
                wake = resolve
                signal.addEventListener('abort', () => resolve(), { once: true })
              })
          }
        },
        list: ({ type }) => (type === 'Dataplane' ? pages() : Promise.resolve({ items: [] })) as never,
      },
    })
    const ending = new AbortController()
    const running = directory.run(ending.signal)
    return {
      directory,
      setPages: (next: typeof pages) => void (pages = next),
      port: () => [...directory.presentFor(keyOf('web'), LISTENER).own.keys()].join(' '),
      async feed(...changes: readonly ResourceChange[]) {
        waiting.push(...changes)
        wake?.()
        await settled(undefined)
      },
      async stop() {
        ending.abort()
        await running
      },
    }
  }

  it('is seen before the feed brings it, is not undone by what the feed brings from before it, and follows what comes after', async () => {
    const { directory, feed, port, stop } = fed()
    directory.put(resource('v5', 85))
    expect(port()).toBe('inbound:85')
    await feed({ kind: 'put', resource: resource('v4', 84) })
    expect(port()).toBe('inbound:85')
    await feed({ kind: 'put', resource: resource('v5', 85) })
    // The wall clock was put back meanwhile.
    await feed({ kind: 'put', resource: resource('v6', 86, 10) })
    expect(port()).toBe('inbound:86')
    await stop()
  })

  it('does not undo what the feed brought first', async () => {
    const { directory, feed, port, stop } = fed()
    await feed({ kind: 'put', resource: resource('v5', 85) }, { kind: 'put', resource: resource('v6', 86) })
    directory.put(resource('v5', 85))
    expect(port()).toBe('inbound:86')
    await stop()
  })

  it('stays when everything is read again from before it was stored; what is really gone goes', async () => {
    const { directory, setPages, feed, port, stop } = fed()
    await directory.ready()
    const page = Promise.withResolvers<{ items: Resource[] }>()
    setPages(() => page.promise)
    await feed({ kind: 'resync' })
    directory.put(resource('v5', 85))
    page.resolve({ items: [] })
    await settled(undefined)
    expect(port()).toBe('inbound:85')
    await feed({ kind: 'resync' })
    expect(port()).toBe('')
    await stop()
  })
})

describe('what is built', () => {
  it('is what a data plane asks for and no more, and what all callers of a service have alike is built once', async () => {
    const made: string[] = []
    const noting: ResourceBuilder = {
      ...builder,
      localCluster: (inbound) => (made.push('cluster'), builder.localCluster(inbound)),
      outboundListener: (outbound, protocol) => (made.push('listener'), builder.outboundListener(outbound, protocol)),
      outboundRoute: (service) => (made.push('route'), builder.outboundRoute(service)),
    }
    const { create, seen, stop } = await start({ builder: noting })
    for (const [index, name] of ['web', 'shop'].entries())
      await create(name, dataplane({ inbound: [serving(name, 80 + index)], outbound: [calling('backend')] }))
    seen('web', CLUSTER)
    expect(made).toEqual(['cluster'])
    for (const name of ['web', 'shop', 'web']) {
      expect(seen(name, LISTENER)).toContain('outbound:19000=http')
      expect(seen(name, ROUTE)).toEqual(['outbound:backend=route'])
    }
    expect(made).toEqual(['cluster', 'listener', 'route'])
    await create('b-1', dataplane({ inbound: [serving('backend', 90, { protocol: 'tcp' })] }))
    expect(seen('web', LISTENER)).toContain('outbound:19000=tcp')
    await stop()
  })
})

describe('a stored Dataplane that nothing can be made of', () => {
  const broken = (networking: object) => ({ networking }) as unknown as Dataplane

  it('is left out, counted and named once with what it lacks, and holds up no other', async () => {
    const told: string[] = []
    const { create, seen, directory, store, stop } = await start({ onSkipped: ({ name }, reason) => told.push(`${name}: ${reason}`) })
    const { version } = await create('half', broken({ address: '10.0.0.9', outbound: [] }))
    await create('untagged', broken({ address: '10.0.0.9', inbound: [{ port: 80 }], outbound: [] }))
    await create('web', dataplane({ inbound: [serving('web', 80)] }))
    expect(seen('web', LISTENER)).toEqual(['inbound:80=plain'])
    expect(told).toEqual([
      'half: it has no list networking.inbound: give it one, empty if there is nothing in it',
      'untagged: an entry of its networking.inbound lacks a port or the tag kuma.io/service: each needs both',
    ])
    expect(directory.sizes()).toMatchObject({ members: 1, skipped: 2 })
    const half = await store.get<Dataplane>(keyOf('half'))
    await settled(await store.update({ ...half, version, spec: dataplane({ inbound: [serving('half', 81)] }) }, { writer: 'test' }))
    await settled(await store.delete(keyOf('untagged'), { writer: 'test' }))
    expect(seen('half', LISTENER)).toEqual(['inbound:81=plain'])
    expect(directory.sizes()).toMatchObject({ members: 2, skipped: 0 })
    await stop()
  })

  it('takes the place of one that was whole', async () => {
    const { create, seen, directory, store, stop } = await start()
    const { version } = await create('web', dataplane({ inbound: [serving('web', 80)] }))
    await settled(await store.update({ ...(await store.get<Dataplane>(keyOf('web'))), version, spec: broken({}) }, { writer: 'test' }))
    expect(seen('web', LISTENER)).toEqual([])
    expect(directory.sizes()).toMatchObject({ members: 0, services: 0, skipped: 1 })
    await stop()
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { loadKinds } from '../model/load-kinds.ts'
import { createMemoryStore } from '../store/memory-store.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { createResourceService, type ResourceService } from './resource-service.ts'

const kinds = await loadKinds()
let store: ResourceStore
let resources: ResourceService
beforeEach(() => {
  store = createMemoryStore({ clock: createFakeClock(), kinds, instance: 'i' })
  resources = createResourceService({ store, kinds, role: 'global' })
})
const timeout = {
  type: 'MeshTimeout',
  mesh: 'demo',
  name: 'slow',
  spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '5s' } }] },
}
const zone = () => createResourceService({ store, kinds, role: 'zone' })

describe('applying a resource', () => {
  it('makes it, changes it, and leaves it alone when nothing differs', async () => {
    await resources.apply({ type: 'Mesh', name: 'demo' }, {})
    expect(await resources.apply(timeout, {})).toMatchObject({
      outcome: 'created',
      resource: { ...timeout, version: expect.any(String) as string },
    })
    expect((await resources.apply(timeout, {})).outcome).toBe('unchanged')
    expect((await resources.apply({ ...timeout, labels: { team: 'a' } }, {})).outcome).toBe('updated')
    expect(await resources.get({ type: 'MeshTimeout', mesh: 'demo', name: 'slow' })).toMatchObject({ ...timeout, labels: { team: 'a' } })
  })

  it('gives a new mesh its default policies, unless it says otherwise', async () => {
    await resources.apply({ type: 'Mesh', name: 'demo' }, {})
    await resources.apply({ type: 'Mesh', name: 'bare', skipCreatingInitialPolicies: ['*'] }, {})
    const of = async (mesh: string) => (await resources.list({ type: 'MeshTimeout', mesh, limit: 10 })).items.map(({ name }) => name)
    expect(await of('demo')).toEqual(['mesh-timeout-all-demo', 'mesh-timeout-to-all-demo'])
    expect(await of('bare')).toEqual([])
  })

  it('keeps to the version that was seen, and names who wrote since', async () => {
    const { resource } = await resources.apply({ type: 'Mesh', name: 'demo' }, { expectedVersion: '' })
    const version = String(resource['version'])
    await resources.apply({ type: 'Mesh', name: 'demo', mtls: { enabledBackend: 'builtin' } }, { expectedVersion: version })
    await expect(resources.apply({ type: 'Mesh', name: 'demo' }, { expectedVersion: version })).rejects.toMatchObject({
      code: 'conflict',
      details: { lostTo: { writer: 'operator' } },
    })
    await expect(resources.delete({ type: 'Mesh', mesh: '', name: 'demo' }, { expectedVersion: version })).rejects.toMatchObject({
      code: 'conflict',
    })
  })

  it('names the field that is wrong, the owner that is missing, and the types there are', async () => {
    await expect(resources.apply({ ...timeout, spec: { to: [{ targetRef: {} }] } }, {})).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('to.0.targetRef.kind') as string,
    })
    await expect(resources.apply(timeout, {})).rejects.toMatchObject({ code: 'owner_missing' })
    await expect(resources.apply({ type: 'MeshTimeuot', name: 'x' }, {})).rejects.toMatchObject({
      message: expect.stringContaining('MeshTimeout') as string,
    })
    await expect(resources.apply({ type: 'Mesh', mesh: 'demo', name: 'x' }, {})).rejects.toMatchObject({
      message: expect.stringMatching(/^mesh: /) as string,
    })
  })
})

describe('what could not be kept as it is', () => {
  it('is a name that nobody can read, or that would be two parts of a key', async () => {
    for (const name of ['a\0b', 'a b', 'a\n', '\ud800', '\u202ea'])
      await expect(resources.apply({ type: 'Mesh', name }, {})).rejects.toMatchObject({ code: 'invalid', details: { field: 'name' } })
  })

  it('is nested without end', async () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown
    await expect(resources.apply({ type: 'Mesh', name: 'demo', deep }, {})).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('what is not the caller’s to change', () => {
  it('is what Tidewatch writes itself, and secrets are not even shown', async () => {
    await expect(resources.apply({ type: 'ZoneInsight', name: 'east', subscriptions: [] }, {})).rejects.toMatchObject({ code: 'forbidden' })
    await expect(resources.list({ type: 'Secret', limit: 10 })).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('is what came from the other control plane, which is named', async () => {
    await store.create(
      { key: { type: 'Mesh', mesh: '', name: 'demo' }, spec: {}, labels: { 'kuma.io/origin': 'global' } },
      { writer: 'kds-sync' },
    )
    await expect(zone().apply({ type: 'Mesh', name: 'demo' }, {})).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('global') as string,
    })
    await store.create(
      { key: { type: 'MeshTimeout', mesh: 'demo', name: 'slow' }, spec: {}, labels: { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' } },
      { writer: 'kds-sync' },
    )
    await expect(resources.apply(timeout, {})).rejects.toMatchObject({ message: expect.stringContaining('comes from zone east') as string })
    await expect(resources.delete({ type: 'MeshTimeout', mesh: 'demo', name: 'slow' }, {})).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('of a zone is its own policies all the same', async () => {
    await store.create({ key: { type: 'Mesh', mesh: '', name: 'demo' }, spec: {} }, { writer: 'kds-sync' })
    expect((await zone().apply(timeout, {})).outcome).toBe('created')
  })
})

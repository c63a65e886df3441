import { createTopic } from '../lib/topic.ts'
import type { Present } from '../discovery/discovery.ts'
import { type Dataplane, SERVICE_TAG } from '../model/kinds/dataplane.ts'
import type { Mesh as MeshSpec } from '../model/kinds/mesh.ts'
import { isSameKey, type Resource, type ResourceKey } from '../model/resource.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { type Endpoint, type Protocol, protocolOf, type ResourceBuilder, type SecureMesh } from './build-resources.ts'
import { CLUSTER, ENDPOINT, LISTENER, ROUTE, type XdsResource } from './resource-types.ts'

/**
 * Who is in which mesh and what each may see, in memory: fed by the store's change feed, and by the lifecycle at once, so
 * that a data plane that has just registered need not wait for any cache. What services share is built once per change.
 */
export interface MeshDirectory {
  /** Puts a stored Dataplane in at once; the feed brings it again, to no effect. */
  put(resource: Resource<Dataplane>): void
  /** What a data plane sees of a type; nothing when it is not there. */
  presentFor(dataPlane: ResourceKey, type: string): Present<XdsResource>
  /** Whether traffic of the mesh is encrypted, so that its data planes need certificates. */
  isSecure(mesh: string): boolean
  onChange(listener: (change: MeshChange) => void, signal: AbortSignal): void
  /** Follows the store until aborted. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when the first read is done. */
  ready(): Promise<void>
}

export interface MeshChange {
  readonly mesh: string
  /** Whose own configuration may have changed. */
  readonly names: readonly string[]
  /** Whose clusters or endpoints may have changed. */
  readonly services: readonly string[]
}

interface Member {
  readonly resource: Resource<Dataplane>
  /** Built on first use, and again when a called service's protocol changed. */
  own: ReadonlyMap<string, ReadonlyMap<string, XdsResource>> | undefined
}
interface Service {
  readonly members: Map<string, readonly Endpoint[]>
  readonly callers: Set<string>
  protocol: Protocol
  readonly built: Map<string, XdsResource>
}
interface Mesh {
  secure: SecureMesh | undefined
  readonly members: Map<string, Member>
  readonly services: Map<string, Service>
}

const EMPTY: Present<XdsResource> = { own: new Map(), find: () => undefined }
const NONE: ReadonlyMap<string, XdsResource> = new Map()
const PAGE = 1000

export interface MeshDirectoryDeps {
  readonly store: Pick<ResourceStore, 'changes' | 'list'>
  readonly builder: ResourceBuilder
}

export function createMeshDirectory({ store, builder }: MeshDirectoryDeps): MeshDirectory {
  const meshes = new Map<string, Mesh>()
  const topic = createTopic<MeshChange>()
  const firstRead = Promise.withResolvers<void>()

  return {
    put,
    presentFor,
    isSecure: (mesh) => meshes.get(mesh)?.secure !== undefined,
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    run,
    ready: () => firstRead.promise,
  }

  async function run(signal: AbortSignal): Promise<void> {
    // Subscribed before the read, so that nothing falls between.
    const changes = store.changes(signal)
    await readAll(signal)
    firstRead.resolve()
    for await (const change of changes) {
      if (change.kind === 'resync') await readAll(signal)
      else if (change.kind === 'put') {
        if (change.resource.key.type === 'Dataplane') put(change.resource as Resource<Dataplane>)
        if (change.resource.key.type === 'Mesh') putMesh(change.resource as Resource<MeshSpec>)
      } else if (change.key.type === 'Dataplane') remove(change.key)
    }
  }

  async function readAll(signal: AbortSignal) {
    const meshPage = await store.list<MeshSpec>({ type: 'Mesh', limit: PAGE }, { signal })
    for (const resource of meshPage.items) putMesh(resource)
    const seen = new Set<string>()
    let cursor: string | undefined
    do {
      const page = await store.list<Dataplane>({ type: 'Dataplane', limit: PAGE, ...(cursor !== undefined && { cursor }) }, { signal })
      for (const resource of page.items) {
        seen.add(`${resource.key.mesh}\0${resource.key.name}`)
        put(resource)
      }
      cursor = page.nextCursor
    } while (cursor !== undefined)
    for (const [mesh, { members }] of meshes)
      for (const [name, { resource }] of members) if (!seen.has(`${mesh}\0${name}`)) remove(resource.key)
  }

  function putMesh({ key: { name }, spec }: Resource<MeshSpec>) {
    const mesh = meshOf(name)
    const secure = spec.mtls === undefined ? undefined : { name }
    if (mesh.secure?.name === secure?.name) return
    mesh.secure = secure
    for (const service of mesh.services.values()) service.built.clear()
    for (const member of mesh.members.values()) member.own = undefined
    topic.publish({ mesh: name, names: [...mesh.members.keys()], services: [...mesh.services.keys()] })
  }

  function put(resource: Resource<Dataplane>) {
    const { mesh: meshName, name } = resource.key
    const mesh = meshOf(meshName)
    const before = mesh.members.get(name)?.resource
    // The feed may bring what the lifecycle put already, or an older one than that.
    if (before !== undefined && (before.version === resource.version || before.modifiedAt > resource.modifiedAt)) return
    const isSame = before !== undefined && JSON.stringify(before.spec.networking) === JSON.stringify(resource.spec.networking)
    mesh.members.set(name, { resource, own: isSame ? mesh.members.get(name)?.own : undefined })
    if (isSame) return
    const services = new Set([...leave(mesh, before), ...enter(mesh, resource)])
    topic.publish({ mesh: meshName, names: [name], services: [...services] })
  }

  function remove(key: ResourceKey) {
    const mesh = meshes.get(key.mesh)
    const member = mesh?.members.get(key.name)
    if (mesh === undefined || member === undefined || !isSameKey(member.resource.key, key)) return
    mesh.members.delete(key.name)
    const services = leave(mesh, member.resource)
    if (mesh.members.size === 0 && mesh.secure === undefined) meshes.delete(key.mesh)
    topic.publish({ mesh: key.mesh, names: [key.name], services })
  }

  function enter(mesh: Mesh, { key, spec }: Resource<Dataplane>): readonly string[] {
    const touched = new Set<string>()
    for (const { tags } of spec.networking.outbound) serviceOf(mesh, tags).callers.add(key.name)
    for (const inbound of spec.networking.inbound) {
      const service = serviceOf(mesh, inbound.tags)
      const endpoints = service.members.get(key.name) ?? []
      const isHealthy = inbound.state === undefined || inbound.state === 'Ready'
      const own = isHealthy ? [{ address: inbound.address ?? spec.networking.address, port: inbound.port }] : []
      service.members.set(key.name, [...endpoints, ...own])
      const protocol = protocolOf(inbound)
      if (protocol !== service.protocol) {
        service.protocol = protocol
        for (const caller of service.callers) forgetOwn(mesh, caller)
      }
      service.built.clear()
      touched.add(inbound.tags[SERVICE_TAG] ?? '')
    }
    return [...touched]
  }

  function leave(mesh: Mesh, before: Resource<Dataplane> | undefined): readonly string[] {
    if (before === undefined) return []
    const { name } = before.key
    const touched = before.spec.networking.inbound.map(({ tags }) => tags[SERVICE_TAG] ?? '')
    for (const { tags } of [...before.spec.networking.inbound, ...before.spec.networking.outbound]) {
      const service = mesh.services.get(tags[SERVICE_TAG] ?? '')
      if (service === undefined) continue
      service.members.delete(name)
      service.callers.delete(name)
      service.built.clear()
      if (service.members.size === 0 && service.callers.size === 0) mesh.services.delete(tags[SERVICE_TAG] ?? '')
    }
    return touched
  }

  function forgetOwn(mesh: Mesh, name: string) {
    const member = mesh.members.get(name)
    if (member !== undefined) member.own = undefined
  }

  function presentFor({ mesh: meshName, name }: ResourceKey, type: string): Present<XdsResource> {
    const mesh = meshes.get(meshName)
    const member = mesh?.members.get(name)
    if (mesh === undefined || member === undefined) return EMPTY
    member.own ??= buildOwn(mesh, member.resource.spec)
    const own = withShared(mesh, member, type)
    return { own, find: (wanted) => own.get(wanted) ?? shared(mesh, type, wanted) }
  }

  /** What is built for this proxy alone, and the clusters and endpoints of the services it calls. */
  function withShared(mesh: Mesh, member: Member, type: string): ReadonlyMap<string, XdsResource> {
    const own = member.own?.get(type) ?? NONE
    if (type !== CLUSTER && type !== ENDPOINT) return own
    const all = new Map(own)
    for (const { tags } of member.resource.spec.networking.outbound) {
      const service = tags[SERVICE_TAG] ?? ''
      const resource = shared(mesh, type, service)
      if (resource !== undefined) all.set(service, resource)
    }
    return all
  }

  function buildOwn(mesh: Mesh, spec: Dataplane): ReadonlyMap<string, ReadonlyMap<string, XdsResource>> {
    const { inbound, outbound } = spec.networking
    const protocolTo = (service: string) => mesh.services.get(service)?.protocol ?? 'http'
    const listeners = [
      ...inbound.map((each) => builder.inboundListener(spec, each, mesh.secure)),
      ...outbound.map((each) => builder.outboundListener(each, protocolTo(each.tags[SERVICE_TAG] ?? ''))),
    ]
    const routes = new Set(outbound.map(({ tags }) => tags[SERVICE_TAG] ?? ''))
    return new Map([
      [CLUSTER, byName(inbound.map((each) => builder.localCluster(each)))],
      [LISTENER, byName(listeners)],
      [ROUTE, byName([...routes].map((service) => builder.outboundRoute(service)))],
    ])
  }

  /** What everybody who asks for a service by its name gets, built once until the service changes. */
  function shared(mesh: Mesh, type: string, name: string): XdsResource | undefined {
    const service = mesh.services.get(name)
    if (service === undefined) return undefined
    const known = service.built.get(type)
    if (known !== undefined) return known
    const built = build(type, name, { service, mesh: mesh.secure })
    if (built !== undefined) service.built.set(type, built)
    return built
  }

  function build(
    type: string,
    name: string,
    { service, mesh }: { readonly service: Service; readonly mesh: SecureMesh | undefined },
  ): XdsResource | undefined {
    switch (type) {
      case CLUSTER:
        return builder.serviceCluster(name, { protocol: service.protocol, mesh })
      case ENDPOINT:
        return builder.endpoints(
          name,
          [...service.members].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, endpoints]) => endpoints),
        )
      case LISTENER:
        return builder.apiListener(name)
      case ROUTE:
        return builder.serviceRoute(name)
      default:
        return undefined
    }
  }

  function meshOf(name: string): Mesh {
    const known = meshes.get(name)
    if (known !== undefined) return known
    const mesh: Mesh = { secure: undefined, members: new Map(), services: new Map() }
    meshes.set(name, mesh)
    return mesh
  }

  function serviceOf(mesh: Mesh, tags: Readonly<Record<string, string>>): Service {
    const name = tags[SERVICE_TAG] ?? ''
    const known = mesh.services.get(name)
    if (known !== undefined) return known
    const service: Service = { members: new Map(), callers: new Set(), protocol: 'http', built: new Map() }
    mesh.services.set(name, service)
    return service
  }
}

function byName(resources: readonly XdsResource[]): ReadonlyMap<string, XdsResource> {
  return new Map(resources.map((resource) => [resource.name, resource]))
}

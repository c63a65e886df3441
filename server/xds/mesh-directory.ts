import { createTopic } from '../lib/topic.ts'
import type { Present } from '../discovery/discovery.ts'
import { type Dataplane, type Outbound, SERVICE_TAG } from '../model/kinds/dataplane.ts'
import type { Mesh as MeshSpec } from '../model/kinds/mesh.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'
import { isFromZone } from '../model/origin.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import { type Endpoint, type Protocol, protocolOf, type ResourceBuilder, type SecureMesh } from './build-resources.ts'
import { CLUSTER, ENDPOINT, LISTENER, ROUTE, type XdsResource } from './resource-types.ts'

/**
 * Who is in which mesh and what each may see, in memory: fed by the store's change feed, and by the lifecycle at once, so
 * that a data plane that has just registered need not wait for any cache. What services share is built once per change.
 */
export interface MeshDirectory {
  /** Puts a Dataplane that was just stored in at once; the feed brings it again, to no effect. */
  put(resource: Resource<Dataplane>): void
  /** What a data plane sees of a type; nothing when it is not there. */
  presentFor(dataPlane: ResourceKey, type: string): Present<XdsResource>
  /** Whether traffic of the mesh is encrypted, so that its data planes need certificates. */
  isSecure(mesh: string): boolean
  onChange(listener: (change: MeshChange) => void, signal: AbortSignal): void
  /** What is kept, and who listens, for the debug snapshot. */
  sizes(): { readonly members: number; readonly services: number; readonly listeners: number; readonly skipped: number }
  /** Follows the store until aborted. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when the first read is done: before that, what a data plane would be sent has holes. */
  ready(): Promise<void>
}

export interface MeshChange {
  readonly mesh: string
  /** Whose own configuration may have changed. */
  readonly names: readonly string[]
  /** What those who ask for a service by its name may have changed of. */
  readonly services: readonly string[]
}

interface Member {
  readonly resource: Resource<Dataplane>
  /** Put in by the lifecycle; the feed has not brought it yet. */
  readonly isAhead: boolean
  /** The last few versions the feed brought. */
  readonly fed: readonly string[]
  /** By type, each built on first use, and again when a called service's protocol changed. */
  own: Map<string, ReadonlyMap<string, XdsResource>>
}
interface Service {
  readonly members: Map<string, readonly Endpoint[]>
  readonly callers: Set<string>
  /** How many inbounds say so. */
  readonly protocols: Map<Protocol, number>
  readonly built: Map<string, XdsResource>
  /** Listeners and routes to it: its callers have the same ones, which no change of its members touches. */
  readonly outbound: Map<string, XdsResource>
}
interface Mesh {
  secure: SecureMesh | undefined
  readonly members: Map<string, Member>
  readonly services: Map<string, Service>
}

const EMPTY: Present<XdsResource> = { own: new Map(), find: () => undefined }
const NONE: ReadonlyMap<string, XdsResource> = new Map()
const PAGE = 1000
/** The feed is at most a few versions ahead of a registration that has just returned. */
const FED_KEPT = 4

export interface MeshDirectoryDeps {
  readonly store: Pick<ResourceStore, 'changes' | 'list'>
  readonly builder: ResourceBuilder
  /** A stored Dataplane is left out, for a reason that says what would be right; told once per version. */
  readonly onSkipped?: (key: ResourceKey, reason: string) => void
}

export function createMeshDirectory({ store, builder, onSkipped }: MeshDirectoryDeps): MeshDirectory {
  const meshes = new Map<string, Mesh>()
  const topic = createTopic<MeshChange>()
  /** Stored Dataplanes that nothing can be made of: they are not there, for anybody. */
  const skipped = new Map<KeyString, string>()
  const firstRead = Promise.withResolvers<void>()

  return {
    put,
    presentFor,
    isSecure: (mesh) => meshes.get(mesh)?.secure !== undefined,
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    sizes: () => ({
      members: meshes.values().reduce((sum, { members }) => sum + members.size, 0),
      services: meshes.values().reduce((sum, { services }) => sum + services.size, 0),
      listeners: topic.size(),
      skipped: skipped.size,
    }),
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
        if (change.resource.key.type === 'Dataplane') take(change.resource as Resource<Dataplane>)
        if (change.resource.key.type === 'Mesh') takeMesh(change.resource as Resource<MeshSpec>)
      } else if (change.key.type === 'Dataplane') {
        skipped.delete(toKeyString(change.key))
        remove(change.key)
      } else if (change.key.type === 'Mesh') secure(change.key.name, false)
    }
  }

  async function readAll(signal: AbortSignal) {
    const before = [...meshes.values()].flatMap(({ members }) => [...members.values()].map(({ resource }) => resource))
    const unseen = new Set(before)
    const unseenMeshes = new Set(meshes.keys())
    const unseenSkipped = new Set(skipped.keys())
    for await (const resource of everyOf<MeshSpec>('Mesh', signal)) {
      unseenMeshes.delete(resource.key.name)
      takeMesh(resource)
    }
    for await (const resource of everyOf<Dataplane>('Dataplane', signal)) {
      const known = memberOf(resource.key)
      if (known !== undefined) unseen.delete(known.resource)
      unseenSkipped.delete(toKeyString(resource.key))
      take(resource)
    }
    for (const key of unseenSkipped) skipped.delete(key)
    // Whoever registered while we read is not in the pages read before, and must stay: only what is as it was may go.
    for (const resource of unseen) if (memberOf(resource.key)?.resource === resource) remove(resource.key)
    for (const name of unseenMeshes) secure(name, false)
  }

  async function* everyOf<S>(type: string, signal: AbortSignal): AsyncGenerator<Resource<S>> {
    let cursor: string | undefined
    do {
      const page = await store.list<S>({ type, limit: PAGE, ...(cursor !== undefined && { cursor }) }, { signal })
      yield* page.items
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }

  function takeMesh({ key: { name }, spec }: Resource<MeshSpec>) {
    secure(name, spec.mtls !== undefined)
  }

  function secure(name: string, isSecure: boolean) {
    const mesh = isSecure ? meshOf(name) : meshes.get(name)
    if (mesh === undefined || (mesh.secure !== undefined) === isSecure) return
    mesh.secure = isSecure ? { name } : undefined
    for (const service of mesh.services.values()) service.built.clear()
    for (const member of mesh.members.values()) member.own.clear()
    topic.publish({ mesh: name, names: [...mesh.members.keys()], services: [...mesh.services.keys()] })
    forgetEmpty(name)
  }

  function put(resource: Resource<Dataplane>) {
    if (isSkipped(resource)) return
    const known = memberOf(resource.key)
    // The feed may have been faster, and have brought later ones since.
    if (known !== undefined && (known.resource.version === resource.version || known.fed.includes(resource.version))) return
    set(resource, { isAhead: true, fed: known?.fed ?? [] })
  }

  function take(resource: Resource<Dataplane>) {
    // Its addresses are its zone's own: nobody here can call them.
    if (isFromZone(resource)) return
    if (isSkipped(resource)) return remove(resource.key)
    const known = memberOf(resource.key)
    const isSame = known?.resource.version === resource.version
    if (known?.isAhead === true && !isSame && resource.modifiedAt <= known.resource.modifiedAt) return
    set(resource, { isAhead: false, fed: [...(known?.fed ?? []), resource.version].slice(-FED_KEPT) })
  }

  /** What is written past our own checks, by another writer of the store, may lack what everything here is made from. */
  function isSkipped({ key, version, spec }: Resource<Dataplane>): boolean {
    const id = toKeyString(key)
    const reason = unreadableBecause(spec)
    if (reason === undefined) {
      skipped.delete(id)
      return false
    }
    if (skipped.get(id) !== version) onSkipped?.(key, reason)
    skipped.set(id, version)
    return true
  }

  function set(resource: Resource<Dataplane>, facts: Pick<Member, 'isAhead' | 'fed'>) {
    const { mesh: meshName, name } = resource.key
    const mesh = meshOf(meshName)
    const before = mesh.members.get(name)
    const isSame = before !== undefined && JSON.stringify(before.resource.spec.networking) === JSON.stringify(resource.spec.networking)
    mesh.members.set(name, { resource, ...facts, own: isSame ? before.own : new Map() })
    if (!isSame) move(mesh, meshName, { before: before?.resource, after: resource })
  }

  function remove(key: ResourceKey) {
    const mesh = meshes.get(key.mesh)
    const member = mesh?.members.get(key.name)
    if (mesh === undefined || member === undefined) return
    mesh.members.delete(key.name)
    move(mesh, key.mesh, { before: member.resource, after: undefined })
    forgetEmpty(key.mesh)
  }

  /** Puts one data plane's inbounds and outbounds in the place of what they were, and tells whom that concerns. */
  function move(
    mesh: Mesh,
    meshName: string,
    { before, after }: { readonly before: Resource<Dataplane> | undefined; readonly after: Resource<Dataplane> | undefined },
  ) {
    const all = new Set([before, after].flatMap((each) => (each === undefined ? [] : servicesOf(each.spec))))
    const protocols = new Map([...all].map((service) => [service, protocolTo(mesh, service)]))
    const existed = new Set([...all].filter((service) => mesh.services.has(service)))
    const served = new Set<string>()
    if (before !== undefined) for (const service of leave(mesh, before)) served.add(service)
    if (after !== undefined) for (const service of enter(mesh, after)) served.add(service)
    const name = (after ?? before)?.key.name
    const names = new Set(name === undefined ? [] : [name])
    for (const service of all) {
      if (existed.has(service) !== mesh.services.has(service)) served.add(service)
      if (protocols.get(service) === protocolTo(mesh, service)) continue
      mesh.services.get(service)?.built.delete(CLUSTER)
      for (const caller of mesh.services.get(service)?.callers ?? []) {
        forgetOwn(mesh, caller)
        names.add(caller)
      }
    }
    topic.publish({ mesh: meshName, names: [...names], services: [...served] })
  }

  function enter(mesh: Mesh, { key, spec }: Resource<Dataplane>): readonly string[] {
    for (const { tags } of spec.networking.outbound) serviceOf(mesh, serviceIn(tags)).callers.add(key.name)
    for (const inbound of spec.networking.inbound) {
      const service = serviceOf(mesh, serviceIn(inbound.tags))
      const endpoints = service.members.get(key.name) ?? []
      const isHealthy = inbound.state === undefined || inbound.state === 'Ready'
      const own = isHealthy ? [{ address: inbound.address ?? spec.networking.address, port: inbound.port }] : []
      service.members.set(key.name, [...endpoints, ...own])
      count(service, protocolOf(inbound), 1)
      service.built.delete(ENDPOINT)
    }
    return spec.networking.inbound.map(({ tags }) => serviceIn(tags))
  }

  function leave(mesh: Mesh, { key, spec }: Resource<Dataplane>): readonly string[] {
    for (const inbound of spec.networking.inbound) {
      const service = mesh.services.get(serviceIn(inbound.tags))
      if (service === undefined) continue
      service.members.delete(key.name)
      count(service, protocolOf(inbound), -1)
      service.built.delete(ENDPOINT)
    }
    for (const { tags } of spec.networking.outbound) mesh.services.get(serviceIn(tags))?.callers.delete(key.name)
    for (const name of servicesOf(spec)) {
      const service = mesh.services.get(name)
      if (service?.members.size === 0 && service.callers.size === 0) mesh.services.delete(name)
    }
    return spec.networking.inbound.map(({ tags }) => serviceIn(tags))
  }

  function forgetOwn(mesh: Mesh, name: string) {
    mesh.members.get(name)?.own.clear()
  }

  function presentFor({ mesh: meshName, name }: ResourceKey, type: string): Present<XdsResource> {
    const mesh = meshes.get(meshName)
    const member = mesh?.members.get(name)
    if (mesh === undefined || member === undefined) return EMPTY
    let all: ReadonlyMap<string, XdsResource> | undefined
    return {
      // Not everybody who asks for services by their names subscribes to all.
      get own() {
        return (all ??= withShared(mesh, member, type))
      },
      find: (wanted) => ownOf(mesh, member, type).get(wanted) ?? shared(mesh, type, wanted),
    }
  }

  /** What is built for this proxy alone. */
  function ownOf(mesh: Mesh, member: Member, type: string): ReadonlyMap<string, XdsResource> {
    return member.own.getOrInsertComputed(type, () => buildOwn(mesh, member.resource.spec, type))
  }

  /** And the clusters and endpoints of the services it calls. */
  function withShared(mesh: Mesh, member: Member, type: string): ReadonlyMap<string, XdsResource> {
    const own = ownOf(mesh, member, type)
    if (type !== CLUSTER && type !== ENDPOINT) return own
    const all = new Map(own)
    for (const { tags } of member.resource.spec.networking.outbound) {
      const service = serviceIn(tags)
      const resource = shared(mesh, type, service)
      if (resource !== undefined) all.set(service, resource)
    }
    return all
  }

  /** Of one type alone: whoever is new asks for clusters first, and nothing else may keep it waiting. */
  function buildOwn(mesh: Mesh, spec: Dataplane, type: string): ReadonlyMap<string, XdsResource> {
    const { inbound, outbound } = spec.networking
    switch (type) {
      case CLUSTER:
        return byName(inbound.map((each) => builder.localCluster(each)))
      case LISTENER:
        return byName([
          ...inbound.map((each) => builder.inboundListener(spec, each, mesh.secure)),
          ...outbound.map((each) => outboundListener(mesh, each)),
        ])
      case ROUTE:
        return byName([...new Set(outbound.map(({ tags }) => serviceIn(tags)))].map((service) => outboundRoute(mesh, service)))
      default:
        return NONE
    }
  }

  function outboundListener(mesh: Mesh, outbound: Outbound): XdsResource {
    const service = serviceIn(outbound.tags)
    const protocol = protocolTo(mesh, service)
    const build = () => builder.outboundListener(outbound, protocol)
    return serviceOf(mesh, service).outbound.getOrInsertComputed(
      `${LISTENER} ${protocol} ${outbound.port} ${outbound.address ?? ''}`,
      build,
    )
  }

  function outboundRoute(mesh: Mesh, service: string): XdsResource {
    return serviceOf(mesh, service).outbound.getOrInsertComputed(ROUTE, () => builder.outboundRoute(service))
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
        return builder.serviceCluster(name, { protocol: commonProtocol(service), mesh })
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

  function memberOf({ mesh, name }: ResourceKey): Member | undefined {
    return meshes.get(mesh)?.members.get(name)
  }

  function forgetEmpty(name: string) {
    const mesh = meshes.get(name)
    if (mesh?.members.size === 0 && mesh.secure === undefined) meshes.delete(name)
  }

  function serviceOf(mesh: Mesh, name: string): Service {
    const known = mesh.services.get(name)
    if (known !== undefined) return known
    const service: Service = { members: new Map(), callers: new Set(), protocols: new Map(), built: new Map(), outbound: new Map() }
    mesh.services.set(name, service)
    return service
  }
}

/** Undefined when it has all that is read here; looks at the shape alone, once per version. */
function unreadableBecause(spec: unknown): string | undefined {
  const networking = fieldOf(spec, 'networking')
  if (typeof fieldOf(networking, 'address') !== 'string') return 'it has no networking.address: give it the address it is reached by'
  for (const list of ['inbound', 'outbound']) {
    const entries = fieldOf(networking, list)
    if (!Array.isArray(entries)) return `it has no list networking.${list}: give it one, empty if there is nothing in it`
    if (
      entries.some(
        (entry) => typeof fieldOf(fieldOf(entry, 'tags'), SERVICE_TAG) !== 'string' || typeof fieldOf(entry, 'port') !== 'number',
      )
    )
      return `an entry of its networking.${list} lacks a port or the tag ${SERVICE_TAG}: each needs both`
  }
  return undefined
}

function fieldOf(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined
}

function serviceIn(tags: Readonly<Record<string, string>>): string {
  return tags[SERVICE_TAG] ?? ''
}

function servicesOf({ networking: { inbound, outbound } }: Dataplane): readonly string[] {
  return [...inbound, ...outbound].map(({ tags }) => serviceIn(tags))
}

function count({ protocols }: Service, protocol: Protocol, by: 1 | -1) {
  const inbounds = (protocols.get(protocol) ?? 0) + by
  if (inbounds > 0) protocols.set(protocol, inbounds)
  else protocols.delete(protocol)
}

function protocolTo(mesh: Mesh, service: string): Protocol {
  const known = mesh.services.get(service)
  return known === undefined ? 'http' : commonProtocol(known)
}

/** What all inbounds of a service understand; the same on every instance, whatever the order they came in. */
function commonProtocol({ protocols }: Service): Protocol {
  const [only = 'http'] = protocols.keys()
  if (protocols.size <= 1) return only
  return protocols.has('tcp') ? 'tcp' : 'http'
}

function byName(resources: readonly XdsResource[]): ReadonlyMap<string, XdsResource> {
  return new Map(resources.map((resource) => [resource.name, resource]))
}

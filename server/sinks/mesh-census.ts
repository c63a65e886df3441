import { type DataplaneInsight, isOnline, rejectedTypes } from '../model/insight.ts'
import type { DataplaneCounts, MeshInsight } from '../model/mesh-insight.ts'
import { type KeyString, type Resource, type ResourceKey, toKeyString } from '../model/resource.ts'

/** Who lives in which mesh, kept by what is stored: an insight of a mesh is counted, never scanned for. */
export interface MeshCensus {
  /** The meshes of which something changed that their insights tell. */
  put(resource: Resource): readonly string[]
  remove(key: ResourceKey): readonly string[]
  meshes(): readonly string[]
  count(mesh: string): Omit<MeshInsight, 'generation'>
  /** Forgets all: everything is read again. */
  clear(): void
  size(): number
}

interface Member {
  readonly version: string
  readonly state: keyof Omit<DataplaneCounts, 'total'>
}
interface OfMesh {
  readonly resources: Map<string, Set<KeyString>>
  /** By name of the data plane. */
  readonly insights: Map<string, Member>
}

const UNKNOWN = 'unknown'

export function createMeshCensus(): MeshCensus {
  const meshes = new Set<string>()
  const contents = new Map<string, OfMesh>()

  return {
    put(resource) {
      const { key } = resource
      if (key.type === 'Mesh') {
        meshes.add(key.name)
        return [key.name]
      }
      if (key.mesh === '') return []
      const content = contentOf(key.mesh)
      if (key.type === 'DataplaneInsight') {
        const member = memberOf(resource.spec as DataplaneInsight)
        const before = content.insights.get(key.name)
        content.insights.set(key.name, member)
        return before?.state === member.state && before.version === member.version ? [] : [key.mesh]
      }
      if (key.type.endsWith('Insight')) return []
      const ofType = content.resources.get(key.type) ?? new Set()
      content.resources.set(key.type, ofType)
      const id = toKeyString(key)
      if (ofType.has(id)) return []
      ofType.add(id)
      return [key.mesh]
    },
    remove(key) {
      if (key.type === 'Mesh') {
        meshes.delete(key.name)
        contents.delete(key.name)
        return []
      }
      const content = contents.get(key.mesh)
      if (content === undefined) return []
      const isGone =
        key.type === 'DataplaneInsight' ? content.insights.delete(key.name) : content.resources.get(key.type)?.delete(toKeyString(key))
      return isGone === true ? [key.mesh] : []
    },
    meshes: () => [...meshes],
    count(mesh) {
      const content = contents.get(mesh)
      const byVersion = new Map<string, { total: number; online: number; degraded: number; offline: number }>()
      const dataplanes = { total: 0, online: 0, degraded: 0, offline: 0 }
      for (const id of content?.resources.get('Dataplane') ?? []) {
        const name = id.slice(id.lastIndexOf('\0') + 1)
        const { version, state } = content?.insights.get(name) ?? { version: UNKNOWN, state: 'offline' as const }
        const ofVersion = byVersion.get(version) ?? { total: 0, online: 0, degraded: 0, offline: 0 }
        byVersion.set(version, ofVersion)
        for (const counts of [dataplanes, ofVersion]) {
          counts.total++
          counts[state]++
        }
      }
      const resources = [...(content?.resources ?? [])].filter(([, ids]) => ids.size > 0).map(([type, ids]) => [type, ids.size] as const)
      return {
        dataplanes,
        byVersion: Object.fromEntries([...byVersion].sort(byName)),
        resources: Object.fromEntries(resources.sort(byName)),
      }
    },
    clear() {
      meshes.clear()
      contents.clear()
    },
    size: () =>
      [...contents.values()].reduce((sum, { resources }) => sum + [...resources.values()].reduce((of, ids) => of + ids.size, 0), 0),
  }

  function contentOf(mesh: string): OfMesh {
    const known = contents.get(mesh)
    if (known !== undefined) return known
    const content: OfMesh = { resources: new Map(), insights: new Map() }
    contents.set(mesh, content)
    return content
  }
}

function memberOf(insight: DataplaneInsight): Member {
  const version = insight.subscriptions.at(-1)?.agent ?? UNKNOWN
  if (!isOnline(insight)) return { version, state: 'offline' }
  return { version, state: rejectedTypes(insight).length > 0 ? 'degraded' : 'online' }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

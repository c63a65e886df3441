import type { ResourceKey } from './resource.ts'

/**
 * A resource type. Adding one is adding one file to server/model/kinds that exports a Kind: stores, API and board learn it
 * from there.
 */
export interface Kind<Spec = unknown> {
  readonly type: string
  /** `mesh`: the key names the mesh it lives in. `global`: its key's mesh is ''. */
  readonly scope: 'mesh' | 'global'
  /** Whom a resource of this type belongs to unless its creator says otherwise; it is deleted with it. */
  readonly ownerOf?: (key: ResourceKey) => ResourceKey
  /** Checks unknown input at the edge and gives the spec; throws `invalid` naming the field, what was wrong and what would be right. */
  readonly parseSpec: (input: unknown) => Spec
}

/** All kinds of this process, by type. */
export type Kinds = ReadonlyMap<string, Kind>

import type { Kind, Kinds } from '../../model/kind.ts'
import type { ResourceKey } from '../../model/resource.ts'

/** Small enough that a test can fill it: changes a reader may have unread before it must resync. */
export const CONTRACT_BACKLOG = 50
export const CONTRACT_INSTANCE = 'instance-1'

const parent: Kind = { type: 'Parent', scope: 'global', parseSpec: (input) => input }
const child: Kind = {
  type: 'Child',
  scope: 'mesh',
  ownerOf: ({ mesh }) => ({ type: 'Parent', mesh: '', name: mesh }),
  parseSpec: (input) => input,
}
const grandchild: Kind = {
  type: 'Grandchild',
  scope: 'mesh',
  ownerOf: ({ mesh, name }) => ({ type: 'Child', mesh, name }),
  parseSpec: (input) => input,
}
export const contractKinds: Kinds = new Map([parent, child, grandchild].map((kind) => [kind.type, kind]))

export const contractKeys = {
  parent: (name = 'm'): ResourceKey => ({ type: 'Parent', mesh: '', name }),
  child: (name = 'c', mesh = 'm'): ResourceKey => ({ type: 'Child', mesh, name }),
  grandchild: (name = 'c', mesh = 'm'): ResourceKey => ({ type: 'Grandchild', mesh, name }),
}

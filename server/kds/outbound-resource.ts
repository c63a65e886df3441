import type { Resource } from '../model/resource.ts'
import type { SyncedResource } from './kuma-resource.ts'
import { DISPLAY_NAME_LABEL, keepsItsName, MESH_LABEL, SYNC_LABEL, suffixedName } from './peer-name.ts'
import { ORIGIN_LABEL, ZONE_LABEL } from '../model/origin.ts'

/** Whose resource it is, and what the peer wants of its name. */
export interface Sender {
  /** A peer drops, acknowledged, what does not say where it comes from. */
  readonly origin: 'global' | { readonly zone: string }
  /** The peer said `hash-suffix`: it wants names that never meet another's. */
  readonly hashSuffix: boolean
}

/** Whether it is ours to send: made here, and not kept at home. What came from the other side goes back to nobody. */
export function isOurs({ labels }: Pick<Resource, 'labels'>, { origin }: Pick<Sender, 'origin'>): boolean {
  const madeBy = labels[ORIGIN_LABEL]
  return labels[SYNC_LABEL] !== 'disabled' && (madeBy === undefined || madeBy === (origin === 'global' ? 'global' : 'zone'))
}

/** As it crosses: labelled with where it comes from, and under the name the peer wants. Its status stays: the peer keeps its own. */
export function toSynced(
  { key, labels: own, spec }: Pick<Resource, 'key' | 'labels' | 'spec'>,
  { origin, hashSuffix }: Sender,
): SyncedResource {
  const displayName = own[DISPLAY_NAME_LABEL] ?? key.name
  const labels = {
    ...own,
    [DISPLAY_NAME_LABEL]: displayName,
    ...(key.mesh !== '' && { [MESH_LABEL]: key.mesh }),
    [ORIGIN_LABEL]: origin === 'global' ? origin : 'zone',
    ...(origin !== 'global' && { [ZONE_LABEL]: origin.zone }),
  }
  const name = hashSuffix && !keepsItsName(key.type) ? suffixedName({ mesh: key.mesh, displayName, labels }) : key.name
  return { key: { ...key, name }, labels, spec: spec as object }
}

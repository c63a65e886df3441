import type { Resource } from './resource.ts'

/** Where a resource was made: `global` or `zone`; absent means here. */
export const ORIGIN_LABEL = 'kuma.io/origin'
/** The zone it was made in. */
export const ZONE_LABEL = 'kuma.io/zone'

/** Whether a zone sent it here: its heartbeat does not travel, and its addresses are the zone's own. */
export function isFromZone({ labels }: Pick<Resource, 'labels'>): boolean {
  return labels[ZONE_LABEL] !== undefined && labels[ORIGIN_LABEL] === 'zone'
}

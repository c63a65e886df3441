import type { RemoteZoneRow } from '../../server/model/remote-zone.ts'

export function remoteZoneState({ enabled, online, connectedAt }: Pick<RemoteZoneRow, 'enabled' | 'online' | 'connectedAt'>): string {
  const state = connectedAt === null ? 'never connected' : online ? 'online' : 'offline'
  return enabled === false ? `${state}, disabled` : state
}

/** As the page's address names it. */
export function remoteZoneId({ source, name }: Pick<RemoteZoneRow, 'source' | 'name'>): string {
  return `${source}/${name}`
}

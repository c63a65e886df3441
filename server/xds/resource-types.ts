import type { DiscoveryResource, DiscoveryType } from '../discovery/discovery-session.ts'
import { TYPE_URL_PREFIX } from './protos.ts'

/** A resource as it goes out: serialised once, for however many peers. */
export interface XdsResource extends DiscoveryResource {
  readonly any: { readonly type_url: string; readonly value: Buffer }
}

export const CLUSTER = `${TYPE_URL_PREFIX}envoy.config.cluster.v3.Cluster`
export const ENDPOINT = `${TYPE_URL_PREFIX}envoy.config.endpoint.v3.ClusterLoadAssignment`
export const LISTENER = `${TYPE_URL_PREFIX}envoy.config.listener.v3.Listener`
export const ROUTE = `${TYPE_URL_PREFIX}envoy.config.route.v3.RouteConfiguration`
export const SECRET = `${TYPE_URL_PREFIX}envoy.extensions.transport_sockets.tls.v3.Secret`

/**
 * In warming order: a listener that routes to a cluster that is not there yet would drop requests. A changed cluster waits
 * for its endpoints and a changed listener for its routes, changed or not, so those follow at once.
 */
export const xdsTypes: readonly DiscoveryType[] = [
  { type: SECRET, short: 'SDS', hasFullSet: false },
  { type: CLUSTER, short: 'CDS', hasFullSet: true, followedBy: ENDPOINT },
  { type: ENDPOINT, short: 'EDS', hasFullSet: false },
  { type: LISTENER, short: 'LDS', hasFullSet: true, followedBy: ROUTE },
  { type: ROUTE, short: 'RDS', hasFullSet: false },
]

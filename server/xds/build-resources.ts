import type { Cluster } from '../gen/envoy/config/cluster/v3/Cluster.ts'
import type { ClusterLoadAssignment } from '../gen/envoy/config/endpoint/v3/ClusterLoadAssignment.ts'
import type { Listener } from '../gen/envoy/config/listener/v3/Listener.ts'
import type { RouteConfiguration } from '../gen/envoy/config/route/v3/RouteConfiguration.ts'
import type { HttpConnectionManager } from '../gen/envoy/extensions/filters/network/http_connection_manager/v3/HttpConnectionManager.ts'
import type { TcpProxy } from '../gen/envoy/extensions/filters/network/tcp_proxy/v3/TcpProxy.ts'
import type { HttpProtocolOptions } from '../gen/envoy/extensions/upstreams/http/v3/HttpProtocolOptions.ts'
import { hashText } from '../discovery/discovery.ts'
import { type Dataplane, type Inbound, type Outbound, SERVICE_TAG } from '../model/kinds/dataplane.ts'
import type { Protos } from './protos.ts'
import { downstreamTls, upstreamTls } from './secret-resources.ts'
import type { XdsResource } from './resource-types.ts'

/** What traffic of a service is, by the tag `kuma.io/protocol` of its inbounds; HTTP unless they say otherwise. */
export type Protocol = 'http' | 'http2' | 'tcp'
/** A mesh whose traffic is encrypted both ways, each side proving who it is. */
export interface SecureMesh {
  readonly name: string
}
export interface Traffic {
  readonly protocol: Protocol
  readonly mesh: SecureMesh | undefined
}
export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** Builds xDS messages. Deterministic: equal input gives equal bytes, and so an equal version. */
export interface ResourceBuilder {
  /** For traffic to a service, wherever its endpoints are. */
  serviceCluster(service: string, traffic: Traffic): XdsResource
  endpoints(service: string, endpoints: readonly Endpoint[]): XdsResource
  /** For a gRPC client that resolves `xds:///<service>`. */
  apiListener(service: string): XdsResource
  serviceRoute(service: string): XdsResource
  /** For traffic that reaches a proxy: to the process it stands before. */
  localCluster(inbound: Inbound): XdsResource
  inboundListener(dataplane: Dataplane, inbound: Inbound, mesh: SecureMesh | undefined): XdsResource
  outboundListener(outbound: Outbound, protocol: Protocol): XdsResource
  outboundRoute(service: string): XdsResource
}

const ADS = { ads: {}, resource_api_version: 'V3' } as const
const CONNECT_TIMEOUT = { seconds: 5 }
const LOOPBACK = '127.0.0.1'
const TYPE = {
  cluster: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  listener: 'envoy.config.listener.v3.Listener',
  route: 'envoy.config.route.v3.RouteConfiguration',
  http: 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
  tcp: 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
  router: 'envoy.extensions.filters.http.router.v3.Router',
  httpOptions: 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
} as const

export function createResourceBuilder({ pack }: Pick<Protos, 'pack'>): ResourceBuilder {
  const routerFilter = { name: 'envoy.filters.http.router', typed_config: pack(TYPE.router, {}) }

  return {
    serviceCluster: (service, { protocol, mesh }) =>
      resource(
        TYPE.cluster,
        {
          name: service,
          type: 'EDS',
          eds_cluster_config: { eds_config: ADS },
          connect_timeout: CONNECT_TIMEOUT,
          lb_policy: 'ROUND_ROBIN',
          ...protocolOptions(protocol),
          ...(mesh !== undefined && { transport_socket: upstreamTls({ pack }, mesh.name, service) }),
        } satisfies Cluster,
        { name: service, needs: [service] },
      ),

    endpoints: (service, endpoints) =>
      resource(
        TYPE.endpoints,
        {
          cluster_name: service,
          // A gRPC client drops a locality without a weight in silence, and then every call fails; Envoy takes the same answer.
          endpoints:
            endpoints.length === 0
              ? []
              : [
                  {
                    locality: { region: 'local', zone: 'local' },
                    load_balancing_weight: { value: 1 },
                    lb_endpoints: endpoints.map(({ address, port }) => ({
                      health_status: 'HEALTHY',
                      endpoint: { address: socketAddress(address, port) },
                    })),
                  },
                ],
        } satisfies ClusterLoadAssignment,
        { name: service },
      ),

    apiListener: (service) =>
      resource(
        TYPE.listener,
        {
          name: service,
          api_listener: {
            api_listener: pack(TYPE.http, {
              stat_prefix: service,
              http_filters: [routerFilter],
              rds: { config_source: ADS, route_config_name: service },
            } satisfies HttpConnectionManager),
          },
        } satisfies Listener,
        { name: service, needs: [service] },
      ),

    serviceRoute: (service) => resource(TYPE.route, routeTo(service, service), { name: service }),

    localCluster(inbound) {
      const name = localClusterName(inbound)
      const address = socketAddress(inbound.serviceAddress ?? LOOPBACK, inbound.servicePort ?? inbound.port)
      return resource(
        TYPE.cluster,
        {
          name,
          type: 'STATIC',
          connect_timeout: CONNECT_TIMEOUT,
          load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
          ...protocolOptions(protocolOf(inbound)),
        } satisfies Cluster,
        { name },
      )
    },

    inboundListener(dataplane, inbound, mesh) {
      const address = inbound.address ?? dataplane.networking.address
      const name = `inbound:${address}:${inbound.port}`
      const cluster = localClusterName(inbound)
      return resource(
        TYPE.listener,
        {
          name,
          traffic_direction: 'INBOUND',
          address: socketAddress(address, inbound.port),
          filter_chains: [
            {
              filters: [
                protocolOf(inbound) === 'tcp'
                  ? tcpFilter(name, cluster)
                  : httpFilter({
                      stat_prefix: statPrefix(name),
                      http_filters: [routerFilter],
                      route_config: routeTo(`inbound:${inbound.tags[SERVICE_TAG]}`, cluster),
                    }),
              ],
              ...(mesh !== undefined && { transport_socket: downstreamTls({ pack }, mesh.name) }),
            },
          ],
        } satisfies Listener,
        { name },
      )
    },

    outboundListener(outbound, protocol) {
      const service = outbound.tags[SERVICE_TAG] ?? ''
      const address = outbound.address ?? LOOPBACK
      const name = `outbound:${address}:${outbound.port}`
      const filter =
        protocol === 'tcp'
          ? tcpFilter(name, service)
          : httpFilter({
              stat_prefix: statPrefix(name),
              http_filters: [routerFilter],
              rds: { config_source: ADS, route_config_name: outboundRouteName(service) },
            })
      return resource(
        TYPE.listener,
        {
          name,
          traffic_direction: 'OUTBOUND',
          address: socketAddress(address, outbound.port),
          filter_chains: [{ filters: [filter] }],
        } satisfies Listener,
        { name, needs: protocol === 'tcp' ? [] : [outboundRouteName(service)] },
      )
    },

    outboundRoute: (service) => resource(TYPE.route, routeTo(outboundRouteName(service), service), { name: outboundRouteName(service) }),
  }

  function resource(
    type: string,
    message: object,
    { name, needs = [] }: { readonly name: string; readonly needs?: readonly string[] },
  ): XdsResource {
    const any = pack(type, message)
    return { name, version: hashText(any.value.toString('latin1')), needs, any }
  }

  function httpFilter(manager: HttpConnectionManager) {
    return { name: 'envoy.filters.network.http_connection_manager', typed_config: pack(TYPE.http, manager) }
  }

  function tcpFilter(name: string, cluster: string) {
    return {
      name: 'envoy.filters.network.tcp_proxy',
      typed_config: pack(TYPE.tcp, { stat_prefix: statPrefix(name), cluster } satisfies TcpProxy),
    }
  }

  function protocolOptions(protocol: Protocol): Pick<Cluster, 'typed_extension_protocol_options'> {
    if (protocol !== 'http2') return {}
    return {
      typed_extension_protocol_options: {
        [TYPE.httpOptions]: pack(TYPE.httpOptions, { explicit_http_config: { http2_protocol_options: {} } } satisfies HttpProtocolOptions),
      },
    }
  }
}

function outboundRouteName(service: string): string {
  return `outbound:${service}`
}

export function protocolOf({ tags }: Pick<Inbound, 'tags'>): Protocol {
  const protocol = tags['kuma.io/protocol']
  if (protocol === 'tcp') return 'tcp'
  return protocol === 'grpc' || protocol === 'http2' ? 'http2' : 'http'
}

function localClusterName({ serviceAddress = LOOPBACK, servicePort, port }: Inbound): string {
  return `${serviceAddress === LOOPBACK ? 'localhost' : serviceAddress}:${servicePort ?? port}`
}

function routeTo(name: string, cluster: string): RouteConfiguration {
  return {
    name,
    virtual_hosts: [{ name, domains: ['*'], routes: [{ match: { prefix: '' }, route: { cluster, timeout: { seconds: 15 } } }] }],
  }
}

function socketAddress(address: string, port: number) {
  return { socket_address: { address, port_value: port } }
}

function statPrefix(name: string): string {
  return name.replaceAll(/[^\w]/g, '_')
}

import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ServiceDefinition } from '@grpc/grpc-js'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'

/** The few messages a simulated data plane speaks, as grpc-js hands them over. Snake case, as in the protocol. */
export interface DiscoveryRequest {
  readonly type_url: string
  readonly version_info?: string
  readonly response_nonce?: string
  readonly resource_names?: readonly string[]
  readonly node?: AdsNode
  readonly error_detail?: { readonly code: number; readonly message: string }
}
export interface DeltaDiscoveryRequest {
  readonly type_url: string
  readonly response_nonce?: string
  readonly resource_names_subscribe?: readonly string[]
  readonly resource_names_unsubscribe?: readonly string[]
  readonly initial_resource_versions?: Readonly<Record<string, string>>
  readonly node?: AdsNode
  readonly error_detail?: { readonly code: number; readonly message: string }
}
export interface DeltaDiscoveryResponse {
  readonly type_url: string
  readonly nonce: string
  readonly resources: readonly { readonly name: string; readonly version: string; readonly resource: PackedAny }[]
  readonly removed_resources: readonly string[]
}
export interface DiscoveryResponse {
  readonly type_url: string
  readonly version_info: string
  readonly nonce: string
  readonly resources: readonly PackedAny[]
}
export interface AdsNode {
  readonly id: string
  readonly cluster: string
  readonly user_agent_name: string
  readonly user_agent_version: string
  readonly metadata: { readonly fields: Readonly<Record<string, { readonly stringValue: string }>> }
}
export interface PackedAny {
  readonly type_url: string
  readonly value: Buffer
}

export interface AdsProtocol {
  readonly service: ServiceDefinition
  /** What resources of a type make their receiver ask for next: endpoints of clusters, routes of listeners. */
  needsOf(typeUrl: string, resources: readonly PackedAny[]): readonly string[]
}

const URL_PREFIX = 'type.googleapis.com/'
export const CLUSTER = `${URL_PREFIX}envoy.config.cluster.v3.Cluster`
export const ENDPOINT = `${URL_PREFIX}envoy.config.endpoint.v3.ClusterLoadAssignment`
export const LISTENER = `${URL_PREFIX}envoy.config.listener.v3.Listener`
export const SECRET = `${URL_PREFIX}envoy.extensions.transport_sockets.tls.v3.Secret`
export const ROUTE = `${URL_PREFIX}envoy.config.route.v3.RouteConfiguration`

const HTTP_CONNECTION_MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'
const files = [
  'envoy/service/discovery/v3/ads.proto',
  'envoy/config/cluster/v3/cluster.proto',
  'envoy/config/endpoint/v3/endpoint.proto',
  'envoy/config/listener/v3/listener.proto',
  'envoy/config/route/v3/route.proto',
  'envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto',
]

interface Cluster {
  readonly name: string
  readonly type?: string
}
interface Listener {
  readonly name: string
  readonly filter_chains: readonly { readonly filters: readonly { readonly typed_config: PackedAny | null }[] }[]
}

/** Loads the protocol from the .proto files that come with the gRPC xDS client. Takes a few hundred milliseconds. */
export function loadAdsProtocol(): AdsProtocol {
  const deps = join(dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json')), 'deps')
  const definitions = loadSync([...files], {
    includeDirs: ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis'].map((folder) => join(deps, folder)),
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  })
  const decode = <T>(any: PackedAny) =>
    (definitions[any.type_url.slice(URL_PREFIX.length)] as unknown as MessageTypeDefinition<T, T>).deserialize(any.value)
  return {
    service: definitions['envoy.service.discovery.v3.AggregatedDiscoveryService'] as unknown as ServiceDefinition,
    needsOf(typeUrl, resources) {
      if (typeUrl === CLUSTER)
        return resources.map((any) => decode<Cluster>(any)).flatMap(({ name, type }) => (type === 'EDS' ? [name] : []))
      if (typeUrl === LISTENER) return resources.flatMap((any) => decode<Listener>(any).filter_chains.flatMap(routesOf))
      return []
    },
  }

  function routesOf(chain: Listener['filter_chains'][number]): readonly string[] {
    return chain.filters.flatMap(({ typed_config }) => {
      if (typed_config?.type_url !== URL_PREFIX + HTTP_CONNECTION_MANAGER) return []
      const { rds } = decode<{ rds?: { route_config_name: string } | null }>(typed_config)
      return rds === undefined || rds === null ? [] : [rds.route_config_name]
    })
  }
}

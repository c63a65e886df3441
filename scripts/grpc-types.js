// Types of the gRPC messages, from the .proto files that come with the gRPC xDS client. They are made with the options that
// the messages are loaded with at run time, into a folder that git ignores.

export const GENERATED_TYPES = 'server/gen'

const PROTOS = 'node_modules/@grpc/grpc-js-xds/deps'
const INCLUDED = ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis']
const FILES = [
  'envoy/service/discovery/v3/ads.proto',
  'envoy/config/listener/v3/listener.proto',
  'envoy/config/route/v3/route.proto',
  'envoy/config/cluster/v3/cluster.proto',
  'envoy/config/endpoint/v3/endpoint.proto',
  'envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto',
  'envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy.proto',
  'envoy/extensions/filters/http/router/v3/router.proto',
  'envoy/extensions/transport_sockets/tls/v3/secret.proto',
  'envoy/extensions/transport_sockets/tls/v3/tls.proto',
  'envoy/extensions/upstreams/http/v3/http_protocol_options.proto',
]
const OPTIONS = [
  '--keepCase',
  '--longs=Number',
  '--enums=String',
  '--defaults',
  '--oneofs',
  '--grpcLib=@grpc/grpc-js',
  '--importFileExtension=.ts',
]

/** Arguments of proto-loader-gen-types. */
export function protoArguments() {
  return [...OPTIONS, ...INCLUDED.map((folder) => `--includeDirs=${PROTOS}/${folder}`), `--outDir=${GENERATED_TYPES}`, ...FILES]
}

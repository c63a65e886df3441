import type { ServiceDefinition } from '@grpc/grpc-js'
import type { Any } from '../gen/google/protobuf/Any.ts'
import { loadProtoFiles } from '../lib/load-protos.ts'
// What the types in server/gen are made from, too (scripts/grpc-types.js).
import protoFiles from './proto-files.json' with { type: 'json' }

/** The messages of xDS. */
export interface Protos {
  readonly discoveryService: ServiceDefinition
  /** Serialises a message of the named type, as a field of type Any carries it. */
  pack(type: string, message: object): Any & { readonly type_url: string; readonly value: Buffer }
  /** The message of a type, from its bytes. Throws when they are not one. */
  unpack<T>(type: string, bytes: Buffer): T
}

export const TYPE_URL_PREFIX = 'type.googleapis.com/'

export function loadProtos(): Protos {
  const { service, message } = loadProtoFiles(protoFiles)
  return {
    discoveryService: service('envoy.service.discovery.v3.AggregatedDiscoveryService'),
    pack: (type, content) => ({ type_url: TYPE_URL_PREFIX + type, value: message(type).serialize(content) }),
    unpack: <T>(type: string, bytes: Buffer) => message(type).deserialize(bytes) as T,
  }
}

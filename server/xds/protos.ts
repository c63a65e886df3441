import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ServiceDefinition } from '@grpc/grpc-js'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'
import type { Any } from '../gen/google/protobuf/Any.ts'
// What the types in server/gen are made from, too (scripts/grpc-types.js).
import protoFiles from './proto-files.json' with { type: 'json' }

/** The messages of xDS, loaded from the .proto files that come with the gRPC xDS client. Takes about 0.3 s and 17 MB, once. */
export interface Protos {
  readonly discoveryService: ServiceDefinition
  /** Serialises a message of the named type, as a field of type Any carries it. */
  pack(type: string, message: object): Any & { readonly type_url: string; readonly value: Buffer }
  /** The message of a type, from its bytes. Throws when they are not one. */
  unpack<T>(type: string, bytes: Buffer): T
}

export const TYPE_URL_PREFIX = 'type.googleapis.com/'

export function loadProtos(): Protos {
  const folder = join(dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json')), 'deps')
  const definitions = loadSync(protoFiles.files, {
    includeDirs: protoFiles.includeDirs.map((each) => join(folder, each)),
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  })
  const messageOf = (type: string) => {
    const definition = definitions[type]
    if (definition === undefined || !('serialize' in definition)) throw new TypeError(`no message ${type} in the loaded .proto files`)
    return definition as unknown as MessageTypeDefinition<object, object>
  }
  return {
    discoveryService: definitions['envoy.service.discovery.v3.AggregatedDiscoveryService'] as unknown as ServiceDefinition,
    pack: (type, message) => ({ type_url: TYPE_URL_PREFIX + type, value: messageOf(type).serialize(message) }),
    unpack: <T>(type: string, bytes: Buffer) => messageOf(type).deserialize(bytes) as T,
  }
}

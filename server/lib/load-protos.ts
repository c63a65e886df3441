import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ServiceDefinition } from '@grpc/grpc-js'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'

/** Services and messages, loaded from .proto files. */
export interface LoadedProtos {
  service(name: string): ServiceDefinition
  /** Throws a TypeError when there is no such message. */
  message(type: string): MessageTypeDefinition<object, object>
}

/** What a package of .proto files is made of; paths are relative to what comes with the gRPC xDS client, or to this project when `own`. */
export interface ProtoFiles {
  readonly includeDirs: readonly string[]
  readonly files: readonly string[]
  /** Folders of this project, from its root. */
  readonly own?: readonly string[]
}

/**
 * Reads them and what they import: envoy's come with the gRPC xDS client. Takes about 0.3 s and 17 MB for all of xDS. The types
 * in server/gen are made with the same options (scripts/grpc-types.js).
 */
export function loadProtoFiles({ includeDirs, files, own = [] }: ProtoFiles): LoadedProtos {
  const folder = join(dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json')), 'deps')
  const root = join(import.meta.dirname, '..', '..')
  const definitions = loadSync([...files], {
    includeDirs: [...includeDirs.map((each) => join(folder, each)), ...own.map((each) => join(root, each))],
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  })
  return {
    service: (name) => definitions[name] as unknown as ServiceDefinition,
    message(type) {
      const definition = definitions[type]
      if (definition === undefined || !('serialize' in definition)) throw new TypeError(`no message ${type} in the loaded .proto files`)
      return definition as unknown as MessageTypeDefinition<object, object>
    },
  }
}

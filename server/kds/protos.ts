import type { ServiceDefinition } from '@grpc/grpc-js'
import type { MessageTypeDefinition } from '@grpc/proto-loader'
import { loadProtoFiles } from '../lib/load-protos.ts'
// What the types in server/gen are made from, too (scripts/grpc-types.js).
import protoFiles from './proto-files.json' with { type: 'json' }

/** The messages and services that cross between control planes. */
export interface KdsProtos {
  readonly syncService: ServiceDefinition
  readonly globalService: ServiceDefinition
  /** Throws a TypeError when there is no such message. */
  message(type: string): MessageTypeDefinition<object, object>
}

export const KUMA_PACKAGE = 'kuma.mesh.v1alpha1'

export function loadKdsProtos(): KdsProtos {
  const { service, message } = loadProtoFiles(protoFiles)
  return { syncService: service(`${KUMA_PACKAGE}.KDSSyncService`), globalService: service(`${KUMA_PACKAGE}.GlobalKDSService`), message }
}

import { status as grpcStatus } from '@grpc/grpc-js'
import { clip } from './clip.ts'
import type { CoreError, ErrorCode } from './errors.ts'

/** How an error of ours is told to a gRPC peer. What went wrong inside is for our log, not for the peer. */
export function toGrpcStatus(error: CoreError): { readonly code: grpcStatus; readonly details: string } {
  return {
    code: codeFor[error.code] ?? grpcStatus.UNAVAILABLE,
    details: error.code === 'internal' ? 'unexpected error' : clip(error.message.toWellFormed(), LONGEST_DETAILS),
  }
}

/** A status travels in trailers, percent-encoded: half characters cannot be, and peers drop the connection over what is too large. */
const LONGEST_DETAILS = 1_000

const codeFor: Readonly<Partial<Record<ErrorCode, grpcStatus>>> = {
  invalid: grpcStatus.INVALID_ARGUMENT,
  not_found: grpcStatus.NOT_FOUND,
  owner_missing: grpcStatus.FAILED_PRECONDITION,
  unauthorized: grpcStatus.UNAUTHENTICATED,
  forbidden: grpcStatus.PERMISSION_DENIED,
  unsupported: grpcStatus.UNIMPLEMENTED,
  exhausted: grpcStatus.RESOURCE_EXHAUSTED,
  conflict: grpcStatus.ABORTED,
  aborted: grpcStatus.CANCELLED,
}

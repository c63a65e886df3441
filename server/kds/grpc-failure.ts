import { type ServiceError, status as grpcStatus } from '@grpc/grpc-js'
import type { LinkErrorClass } from '../model/link-row.ts'
import { LinkFailure } from '../link/link-failure.ts'

/** How a call to a global ended, as a failure of its link. */
export function toGrpcFailure(error: ServiceError, address: string): LinkFailure {
  const failureClass = classes[error.code] ?? 'server'
  const message = `${error.details || error.message} (${grpcStatus[error.code] ?? error.code})`
  const hint = hints[failureClass]?.(address)
  return new LinkFailure(failureClass, message, { cause: error, ...(hint !== undefined && { hint }) })
}

const classes: Partial<Record<grpcStatus, LinkErrorClass>> = {
  [grpcStatus.UNAVAILABLE]: 'network',
  [grpcStatus.DEADLINE_EXCEEDED]: 'network',
  [grpcStatus.UNAUTHENTICATED]: 'unauthorized',
  [grpcStatus.PERMISSION_DENIED]: 'forbidden',
  [grpcStatus.UNIMPLEMENTED]: 'not_found',
  [grpcStatus.NOT_FOUND]: 'not_found',
  [grpcStatus.RESOURCE_EXHAUSTED]: 'throttled',
  [grpcStatus.INVALID_ARGUMENT]: 'protocol',
  [grpcStatus.FAILED_PRECONDITION]: 'protocol',
  [grpcStatus.OUT_OF_RANGE]: 'protocol',
  [grpcStatus.DATA_LOSS]: 'protocol',
}

const hints: Partial<Record<LinkErrorClass, (address: string) => string>> = {
  network: (address) =>
    `Check that a global control plane listens on ${address} (its --kds-port), with TLS exactly when the address says grpcs://, and then with a certificate for that host by an authority that --global-ca (or the system) holds.`,
  forbidden: () => 'The global refuses this zone: its Zone may be disabled there (tidewatch get Zone).',
  not_found: (address) => `What listens on ${address} is no global control plane: KDSSyncService is missing there. Check the port.`,
}

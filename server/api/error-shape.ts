import { type TRPCDefaultErrorShape, TRPCError } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY, type TRPC_ERROR_CODE_KEY, type TRPC_ERROR_CODE_NUMBER } from '@trpc/server/rpc'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { z } from 'zod'
import { CoreError, type ErrorCode, isCoreError } from '../lib/errors.ts'

/** What a browser or script gets of an error. `data.code` is the core's code, in the place of tRPC's own. */
export interface ApiErrorShape {
  readonly message: string
  readonly code: TRPC_ERROR_CODE_NUMBER
  readonly data: {
    readonly code: ErrorCode
    readonly httpStatus: number
    readonly path?: string
    readonly details: Readonly<Record<string, unknown>>
  }
}

const trpcCodes: Readonly<Record<ErrorCode, TRPC_ERROR_CODE_KEY>> = {
  not_found: 'NOT_FOUND',
  already_exists: 'CONFLICT',
  conflict: 'CONFLICT',
  owner_missing: 'UNPROCESSABLE_CONTENT',
  invalid: 'BAD_REQUEST',
  unsupported: 'NOT_IMPLEMENTED',
  unauthorized: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  unavailable: 'SERVICE_UNAVAILABLE',
  timeout: 'GATEWAY_TIMEOUT',
  exhausted: 'TOO_MANY_REQUESTS',
  aborted: 'CLIENT_CLOSED_REQUEST',
  internal: 'INTERNAL_SERVER_ERROR',
}

/** What tRPC itself refuses, in the core's words; the HTTP status stays tRPC's. */
const coreCodes: Readonly<Partial<Record<TRPC_ERROR_CODE_KEY, ErrorCode>>> = {
  PARSE_ERROR: 'invalid',
  BAD_REQUEST: 'invalid',
  UNPROCESSABLE_CONTENT: 'invalid',
  UNSUPPORTED_MEDIA_TYPE: 'invalid',
  METHOD_NOT_SUPPORTED: 'unsupported',
  PAYLOAD_TOO_LARGE: 'exhausted',
  NOT_FOUND: 'not_found',
  CLIENT_CLOSED_REQUEST: 'aborted',
}

const UNEXPECTED = 'Something went wrong inside Tidewatch; its log says what.'

/** A core error under the tRPC code that fits it; what tRPC refused itself stays as it is; all else is internal. */
export function toTrpcError(error: TRPCError): TRPCError {
  const core = coreErrorOf(error)
  return core === undefined ? error : new TRPCError({ code: trpcCodes[core.code], message: messageOf(core), cause: core })
}

export function toErrorShape(shape: TRPCDefaultErrorShape, thrown: TRPCError): ApiErrorShape {
  const error = toTrpcError(thrown)
  const core = coreErrorOf(error)
  const place = shape.data.path === undefined ? {} : { path: shape.data.path }
  const answer = { code: TRPC_ERROR_CODES_BY_KEY[error.code], httpStatus: getHTTPStatusCodeFromError(error) }
  if (core !== undefined)
    return {
      message: messageOf(core),
      code: answer.code,
      data: { code: core.code, httpStatus: answer.httpStatus, ...place, details: core.code === 'internal' ? {} : core.details },
    }
  return {
    message: error.cause instanceof z.ZodError ? describeIssues(error.cause) : error.message,
    code: answer.code,
    data: {
      code: coreCodes[error.code] ?? 'internal',
      httpStatus: answer.httpStatus,
      ...place,
      details: error.cause instanceof z.ZodError ? { issues: issuesOf(error.cause) } : {},
    },
  }
}

/** An answer of the same form for what is refused before tRPC sees it. */
export function refusalShape({ status, code, message }: { readonly status: number; readonly code: ErrorCode; readonly message: string }): {
  readonly error: ApiErrorShape
} {
  return { error: { message, code: TRPC_ERROR_CODES_BY_KEY[trpcCodes[code]], data: { code, httpStatus: status, details: {} } } }
}

/** A failure that was not yet logged by the middleware: thrown outside it, or by a subscription under way. */
export function isUnexpected(error: TRPCError): boolean {
  return error.code === 'INTERNAL_SERVER_ERROR' && !isCoreError(error.cause)
}

function coreErrorOf(error: TRPCError): CoreError | undefined {
  if (isCoreError(error.cause)) return error.cause
  return error.code === 'INTERNAL_SERVER_ERROR' ? new CoreError('internal', UNEXPECTED, { cause: error.cause ?? error }) : undefined
}

function messageOf(error: CoreError): string {
  return error.code === 'internal' ? UNEXPECTED : error.message
}

function describeIssues(error: z.ZodError): string {
  return issuesOf(error)
    .map(({ field, message }) => (field === '' ? message : `${field}: ${message}`))
    .join('; ')
}

function issuesOf(error: z.ZodError) {
  return error.issues.slice(0, 10).map(({ path, message }) => ({ field: path.join('.'), message }))
}

/**
 * What went wrong, by what the caller may do about it:
 *
 * - `not_found`       the object is not there: treat as absent, or tell the user
 * - `already_exists`  create met an existing object: read it and update
 * - `conflict`        the version read is no longer current: read again and redo, or leave it for the next tick
 * - `owner_missing`   the owner is not there: create it first, or drop the item (it went with its owner)
 * - `invalid`         the input breaks a rule: fix it; retrying the same input never helps
 * - `unsupported`     this store or peer lacks the capability: choose another way
 * - `unauthorized`    no valid credentials: log in
 * - `forbidden`       not allowed with these credentials, host or origin
 * - `unavailable`     the store or peer cannot answer now: retry later with backoff
 * - `timeout`         the deadline passed; the outcome may be unknown: read before retrying
 * - `exhausted`       a bound was reached (queue, size, rate): slow down or ask for less
 * - `aborted`         the caller's own signal ended it
 * - `internal`        a bug of ours: log it, show nothing of it
 */
export type ErrorCode = (typeof errorCodes)[number]
export const errorCodes = [
  'not_found',
  'already_exists',
  'conflict',
  'owner_missing',
  'invalid',
  'unsupported',
  'unauthorized',
  'forbidden',
  'unavailable',
  'timeout',
  'exhausted',
  'aborted',
  'internal',
] as const

export interface CoreErrorOptions {
  /** Ids and facts for the person on call and for scripts; safe to show. */
  readonly details?: Readonly<Record<string, unknown>>
  /** Kept for the log, never sent to a browser. */
  readonly cause?: unknown
  /** The write certainly did not happen, so doing it again is safe. */
  readonly safeToRetry?: boolean
}

const BRAND = Symbol.for('tidewatch.CoreError')

export class CoreError extends Error {
  override readonly name = 'CoreError'
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>
  readonly safeToRetry: boolean
  readonly [BRAND] = true

  constructor(code: ErrorCode, message: string, options: CoreErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
    this.safeToRetry = options.safeToRetry ?? false
  }
}

/** Recognises a CoreError also when its class was loaded twice; with `code`, one of that code only. */
export function isCoreError(error: unknown, code?: ErrorCode): error is CoreError {
  return typeof error === 'object' && error !== null && BRAND in error && (code === undefined || (error as CoreError).code === code)
}

/** The one normaliser: anything thrown becomes a CoreError; what is not known is `internal` (or `aborted`) with the original as cause. */
export function toCoreError(error: unknown): CoreError {
  if (isCoreError(error)) return error
  if (error instanceof Error && error.name === 'AbortError') return new CoreError('aborted', error.message, { cause: error })
  return new CoreError('internal', 'unexpected error', { cause: error })
}

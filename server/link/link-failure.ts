import type { LinkErrorClass } from '../model/link-row.ts'

export interface LinkFailureOptions {
  /** What an operator can do, with lines to paste where there are any. Default: a sentence for the class. */
  readonly hint?: string
  /** The peer said when to come back: no attempt before it. */
  readonly retryAfterMs?: number | undefined
  /**
   * The whole endpoint does not answer (no connection, 502, 503, 504), so that one link probes it for all. Default: true for
   * `network`, false for all others.
   */
  readonly endpointDown?: boolean
  /** For the log. */
  readonly cause?: unknown
}

const BRAND = Symbol.for('tidewatch.LinkFailure')

/** How an attempt ended that did not end cleanly. */
export class LinkFailure extends Error {
  override readonly name = 'LinkFailure'
  readonly class: LinkErrorClass
  readonly hint: string
  readonly retryAfterMs: number | undefined
  readonly endpointDown: boolean
  readonly [BRAND] = true

  constructor(failureClass: LinkErrorClass, message: string, options: LinkFailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.class = failureClass
    this.hint = options.hint ?? defaultHints[failureClass]
    this.retryAfterMs = options.retryAfterMs
    this.endpointDown = options.endpointDown ?? failureClass === 'network'
  }
}

export function isLinkFailure(error: unknown): error is LinkFailure {
  return typeof error === 'object' && error !== null && BRAND in error
}

/** Any end of an attempt as a failure; what is not one is a bug in the connector or an answer it could not read. */
export function toLinkFailure(error: unknown): LinkFailure {
  if (isLinkFailure(error)) return error
  const message = error instanceof Error ? error.message : String(error)
  return new LinkFailure('protocol', `unexpected: ${message}`, { cause: error })
}

/** The class of an HTTP status; undefined for those that are no failure. */
export function classOfStatus(status: number): LinkErrorClass | undefined {
  switch (status) {
    case 401:
      return 'unauthorized'
    case 403:
      return 'forbidden'
    case 404:
      return 'not_found'
    case 410:
      return 'gone'
    case 429:
      return 'throttled'
    default:
      return status >= 500 ? 'server' : status >= 400 ? 'protocol' : undefined
  }
}

/** Whether the status says that the whole endpoint is down, and not this request refused. */
export function isEndpointDown(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

/** What to do when nobody knows better. Connectors say more: the rule to add, the CRD that is missing. */
const defaultHints: Readonly<Record<LinkErrorClass, string>> = {
  unauthorized: 'The credentials were refused: check the token or client certificate this link uses, and whether it has expired.',
  forbidden: 'The credentials are valid but may not read this: grant list and watch on it.',
  not_found: 'The peer does not know it: check the name, the API version, and whether its definition is installed there.',
  gone: 'The peer no longer keeps the version we asked for; everything is read again. If this repeats, it keeps too little history.',
  throttled: 'The peer asks for fewer requests; it is asked again when it said. If this lasts, look at its priority and fairness settings.',
  server: 'The peer failed to answer: look at its own log. It is asked again.',
  network: 'No connection: check that the peer runs, the address, and the network and firewalls between.',
  protocol: 'The answer could not be read: check that the address is the right service and not a proxy or login page.',
  closed_early: 'The peer accepts the connection and ends it at once: look at its log, and at proxies between with short timeouts.',
  idle: 'Nothing came for longer than the peer may be silent: the connection is half-open. It is made again.',
}

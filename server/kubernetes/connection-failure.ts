import { LinkFailure } from '../link/link-failure.ts'

/** Where we tried to connect to, for people. */
export interface Endpoint {
  readonly server: string
  readonly context: string
}

/** What became of a request that got no answer, or whose answer broke off. */
export function toConnectionFailure(error: unknown, { server, context }: Endpoint): LinkFailure {
  const { code = '', message } = innermost(error)
  const certificate =
    certificateProblems[code] ?? (/alert (bad )?certificate|certificate (required|unknown|expired)/i.test(message) ? REFUSED : undefined)
  if (certificate !== undefined)
    return new LinkFailure('unauthorized', `TLS with ${server}: ${message}`, {
      hint: certificate(context),
      endpointDown: false,
      cause: error,
    })
  if (code === 'EPROTO' || code.startsWith('ERR_SSL') || code.startsWith('HPE_'))
    return new LinkFailure('protocol', `${server}: ${message}`, {
      hint: `${server} does not speak ${server.startsWith('https:') ? 'TLS' : 'plain HTTP'} as its address says: check the server address of context ${context}.`,
      cause: error,
    })
  const hint = networkHints[code]?.(server)
  return new LinkFailure('network', `${server}: ${message}`, { ...(hint === undefined ? {} : { hint }), cause: error })
}

/** A word for counting: requests that got no answer. */
export function errorWord(error: unknown): string {
  const { code } = innermost(error)
  return code === undefined || code === '' ? 'error' : code
}

/** A host with several addresses fails with one error for all of them. */
function innermost(error: unknown): { readonly code?: string; readonly message: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0])
  if (!(error instanceof Error)) return { message: String(error) }
  const { code } = error as NodeJS.ErrnoException
  return { message: error.message, ...(code === undefined ? {} : { code }) }
}

const untrusted = (context: string) =>
  `The server's certificate is signed by nobody we trust: give context ${context} the right certificate-authority (or certificate-authority-data) of its cluster.`
const REFUSED = (context: string) =>
  `The server refused the client certificate of context ${context}: check that it has one, that it is signed by the cluster's client CA, and that it has not expired.`

const certificateProblems: Readonly<Record<string, (context: string) => string>> = {
  CERT_HAS_EXPIRED: () => "The server's certificate has expired: renew it on the API server (kubeadm certs renew apiserver).",
  CERT_NOT_YET_VALID: () => "The server's certificate is not valid yet: compare the clocks of this machine and the server.",
  ERR_TLS_CERT_ALTNAME_INVALID: (context) =>
    `The server's certificate is for other names than the address of context ${context}: use one of its names, or set tls-server-name of its cluster.`,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_REVOKED: () => "The server's certificate was revoked: give the API server a new one.",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: REFUSED,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: REFUSED,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: REFUSED,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: REFUSED,
}

const networkHints: Readonly<Record<string, (server: string) => string>> = {
  ECONNREFUSED: (server) => `Nothing listens at ${server}: check that the API server runs, and its address and port.`,
  ECONNRESET: (server) => `${server} cut the connection: it went down or was restarted, or something between ended it.`,
  ENOTFOUND: (server) => `The name in ${server} is unknown to DNS: check the address, and the resolver of this machine.`,
  EAI_AGAIN: (server) => `DNS did not answer for ${server}: check the resolver of this machine.`,
  ETIMEDOUT: (server) => `${server} did not answer in time: check firewalls and routes between.`,
  EHOSTUNREACH: (server) => `There is no route to ${server}: check the network and VPN of this machine.`,
  ENETUNREACH: (server) => `There is no route to ${server}: check the network and VPN of this machine.`,
}

import { textIn } from '../lib/json-fields.ts'
import { classOfStatus, isEndpointDown, LinkFailure } from '../link/link-failure.ts'
import type { KumaConfig } from './kuma-config.ts'

type Asked = Pick<KumaConfig, 'id' | 'url' | 'tokenFile'>

/** An answer that is no success, as the link takes it, with what an operator can do. */
export function toRefusal(code: number, body: string, { path, retryAfter, asked }: RefusalContext): LinkFailure {
  const said = reasonOf(body)
  const hint = hintOf(code, path, asked)
  return new LinkFailure(classOfStatus(code) ?? 'protocol', `HTTP ${code} of ${path}${said === '' ? '' : `: ${said}`}`, {
    ...(hint !== undefined && { hint }),
    retryAfterMs: retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined,
    endpointDown: isEndpointDown(code),
  })
}
interface RefusalContext {
  readonly path: string
  readonly retryAfter: string | undefined
  readonly asked: Asked
}

const REASON_LENGTH = 200

/** Kuma's errors are JSON with a title and a detail; a path it does not know is plain text. */
function reasonOf(body: string): string {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return body.trim().replaceAll(/\s+/g, ' ').slice(0, REASON_LENGTH)
  }
  const [title, detail] = [textIn(parsed, 'title'), textIn(parsed, 'detail') ?? textIn(parsed, 'details')]
  return [title, detail]
    .filter((part) => part !== undefined && part !== '')
    .join(': ')
    .slice(0, REASON_LENGTH)
}

function hintOf(code: number, path: string, { id, url, tokenFile }: Asked): string | undefined {
  if (code === 401)
    return tokenFile === undefined
      ? `${url} asks for a token: give "${id}" a tokenFile with a valid one (kumactl generate user-token --name tidewatch --valid-for 720h).`
      : `The token in ${tokenFile} is wrong or has expired, and a bad token is refused everywhere although no token at all may read everything that is asked for. Put a new one there (it is read anew for each poll), or remove tokenFile of "${id}":\nkumactl generate user-token --name tidewatch --valid-for 720h > ${tokenFile}`
  if (code === 403)
    return `Whoever the token of "${id}" stands for may not read ${path}: anonymous may, so check access.static of the control plane (KUMA_ACCESS_STATIC_*).`
  if (code === 404)
    return `${url} does not serve ${path}: check that the url of "${id}" is the API port of a Kuma control plane (5681), and the path of a proxy before it.`
  return undefined
}

/** No answer, or one that broke off. */
export function toConnectionFailure(error: unknown, { id, url }: Asked): LinkFailure {
  const { code, message } = innermost(error)
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code))
    return new LinkFailure('unauthorized', `TLS with ${url}: ${message}`, {
      hint: `The certificate of ${url} does not hold (${code}): start Tidewatch with NODE_EXTRA_CA_CERTS naming the CA that signed it, or renew it there.`,
      endpointDown: false,
      cause: error,
    })
  if (code === 'EPROTO' || code.startsWith('ERR_SSL') || code.startsWith('HPE_'))
    return new LinkFailure('protocol', `${url}: ${message}`, {
      hint: `${url} does not speak ${url.startsWith('https:') ? 'TLS' : 'plain HTTP'} as its address says: Kuma's API is http on 5681, https on 5682. Check the url of "${id}".`,
      cause: error,
    })
  return new LinkFailure('network', `${url}: ${message}`, { ...networkHint(code, url), cause: error })
}

export function errorWord(error: unknown): string {
  return innermost(error).code || 'error'
}

function networkHint(code: string, url: string): { readonly hint?: string } {
  switch (code) {
    case 'ECONNREFUSED':
      return { hint: `Nothing listens at ${url}: check that the control plane runs, and that this is its API port (5681, https 5682).` }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { hint: `The name in ${url} cannot be resolved: check it, and the resolver of this machine.` }
    case 'ETIMEDOUT':
      return { hint: `${url} did not answer in time: check firewalls between, and how busy the control plane is.` }
    default:
      return {}
  }
}

/** A host with several addresses fails with one error for all of them. */
function innermost(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0])
  if (!(error instanceof Error)) return { code: '', message: String(error) }
  return { code: 'code' in error && typeof error.code === 'string' ? error.code : '', message: error.message }
}

/** What came is not what a Kuma control plane sends. */
export function notKuma(path: string, { id, url }: Asked): LinkFailure {
  return new LinkFailure('protocol', `the answer of ${url}${path} is not what a Kuma control plane sends`, {
    hint: `Check that the url of "${id}" is the API port of a Kuma control plane (5681), and not its diagnostics port, its GUI or a login page before it.`,
  })
}

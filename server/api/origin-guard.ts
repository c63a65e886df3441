/** What a request says about where it comes from. */
export interface RequestOrigin {
  readonly method: string
  readonly isUpgrade: boolean
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly fetchSite: string | undefined
  readonly contentType: string | undefined
  /** The port it arrived at. */
  readonly port: number | undefined
}

export interface Refusal {
  readonly status: 403 | 415
  readonly code: 'forbidden' | 'invalid'
  readonly message: string
}

/**
 * Keeps other web sites out of a Tidewatch that trusts whoever reaches its loopback address. Undefined: let it in.
 *
 * - Host must be loopback with the port it arrived at, or one of `allowedHosts` (`name` for any port, or `name:port`): a name
 *   that an attacker's DNS points at 127.0.0.1 is neither (DNS rebinding).
 * - Origin, when sent, must be the very host asked: for reads too, and for WebSockets, which browsers let any page open.
 * - `Sec-Fetch-Site` must not say that another site asks: another port of this machine counts as one.
 * - What carries a body must be JSON: a form or a plain-text post crosses sites without asking first (CSRF).
 *
 * Scripts send neither Origin nor Sec-Fetch-Site and pass.
 */
export function refusalOf(request: RequestOrigin, allowedHosts: readonly string[] = []): Refusal | undefined {
  return refuseHost(request, allowedHosts) ?? refuseOrigin(request) ?? refuseBody(request)
}

/** The first of these rules alone: for pages, which people reach by links from other sites. */
export function refuseHost(
  { host, port }: Pick<RequestOrigin, 'host' | 'port'>,
  allowedHosts: readonly string[] = [],
): Refusal | undefined {
  const asked = parseHost(host)
  const isAllowed =
    asked !== undefined &&
    ((isLoopback(asked.name) && asked.port === port) ||
      allowedHosts.some((allowed) => [asked.name, `${asked.name}:${asked.port}`].includes(allowed.toLowerCase())))
  if (isAllowed) return undefined
  return forbidden(
    `Host ${quote(host)} is not served here: use 127.0.0.1:${port ?? ''} or localhost:${port ?? ''} (this keeps other web sites out, DNS rebinding included)`,
  )
}

function refuseOrigin({ host, origin, fetchSite, isUpgrade }: RequestOrigin): Refusal | undefined {
  if (origin !== undefined && hostOfOrigin(origin) !== host?.toLowerCase())
    return forbidden(
      `Origin ${quote(origin)} may not ${isUpgrade ? 'open a socket to' : 'ask'} ${quote(host)}: pages of another site are kept out`,
    )
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none')
    return forbidden(`a ${fetchSite} request is not answered: pages of another site are kept out`)
  return undefined
}

const bodiless: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

function refuseBody({ method, isUpgrade, contentType }: RequestOrigin): Refusal | undefined {
  if (isUpgrade || bodiless.includes(method)) return undefined
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase()
  return mediaType === 'application/json'
    ? undefined
    : { status: 415, code: 'invalid', message: `send content-type: application/json (got ${quote(contentType)})` }
}

/** `name` or `[v6]`, with a port or the scheme's. Undefined for what is no host at all. */
function parseHost(host: string | undefined): { readonly name: string; readonly port: number } | undefined {
  const [, name, port] = /^(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i.exec(host ?? '') ?? []
  return name === undefined ? undefined : { name: name.toLowerCase(), port: port === undefined ? 80 : Number(port) }
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
}

/** The host an origin would send as its Host header; undefined for `null` and what is no web origin. */
function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase()
}

function forbidden(message: string): Refusal {
  return { status: 403, code: 'forbidden', message }
}

function quote(text: string | undefined): string {
  return text === undefined ? '(none)' : JSON.stringify(text.slice(0, 200))
}

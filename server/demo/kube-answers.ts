/** What a Kubernetes API server answers when it refuses, and its tokens for further pages: as the real one does. */
export interface KubeRefusal {
  readonly code: number
  readonly contentType: string
  readonly body: string
  readonly retryAfterSeconds?: number
}

interface StatusFields {
  readonly message: string
  readonly reason: string
  readonly code: number
  readonly details?: object
  readonly metadata?: object
}

function statusObject({ message, reason, code, details, metadata = {} }: StatusFields) {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata,
    status: 'Failure',
    message,
    reason,
    ...(details !== undefined && { details }),
    code,
  }
}

function refusal(fields: StatusFields, retryAfterSeconds?: number): KubeRefusal {
  return {
    code: fields.code,
    contentType: 'application/json',
    body: JSON.stringify(statusObject(fields), null, 2),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }
}

/** A kind or path that is not served. A missing object is told otherwise. */
export const unknownPath: KubeRefusal = { code: 404, contentType: 'text/plain; charset=utf-8', body: '404 page not found\n' }

export const unauthorized = refusal({ message: 'Unauthorized', reason: 'Unauthorized', code: 401 })

export interface Asked {
  readonly user: string
  readonly verb: string
  readonly group: string
  readonly plural: string
}
export function forbidden({ user, verb, group, plural }: Asked): KubeRefusal {
  return refusal({
    message: `${plural} is forbidden: User "${user}" cannot ${verb} resource "${plural}" in API group "${group}" at the cluster scope`,
    reason: 'Forbidden',
    details: { ...(group !== '' && { group }), kind: plural },
    code: 403,
  })
}

export function throttled(retryAfterSeconds: number): KubeRefusal {
  return refusal(
    {
      message: 'The server has received too many requests and has asked us to try again later',
      reason: 'TooManyRequests',
      details: { retryAfterSeconds },
      code: 429,
    },
    retryAfterSeconds,
  )
}

export function badRequest(message: string): KubeRefusal {
  return refusal({ message, reason: 'BadRequest', code: 400 })
}

export function tooLarge(asked: number, current: number): KubeRefusal {
  return refusal(
    {
      message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
      code: 504,
    },
    1,
  )
}

/** To a token for a further page of a list nobody remembers; with another token, for a rest that need not fit. */
export function expiredToken(start: string): KubeRefusal {
  return refusal({
    metadata: { continue: toToken(-1, start) },
    message:
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    reason: 'Expired',
    code: 410,
  })
}

/** The one line a watch answers with, under 200, when its version is no longer kept. */
export function expiredEvent(asked: number, oldest: number): object {
  return {
    type: 'ERROR',
    object: statusObject({ message: `too old resource version: ${asked} (${oldest})`, reason: 'Expired', code: 410 }),
  }
}

/** `start`: the key after which it goes on. */
export function toToken(version: number, start: string): string {
  const text = JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: `${start}\0` })
  return Buffer.from(text).toString('base64url')
}

export function fromToken(token: string): { readonly version: number; readonly start: string } | undefined {
  try {
    const { rv, start } = JSON.parse(Buffer.from(token, 'base64url').toString()) as { readonly rv?: unknown; readonly start?: unknown }
    return typeof rv === 'number' && typeof start === 'string' ? { version: rv, start: start.replace(/\0$/, '') } : undefined
  } catch {
    return undefined
  }
}

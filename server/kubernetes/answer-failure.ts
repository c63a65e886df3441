import { classOfStatus, isEndpointDown, LinkFailure } from '../link/link-failure.ts'
import { parseKubeStatus, type KubeStatus, isFutureVersion } from './kube-status.ts'
import { accessRule } from './access-rule.ts'
import type { WatchedKind } from './watched-kind.ts'

/** A refusal, with what it was that was asked for. */
export interface Refusal {
  readonly status: KubeStatus
  /** Of the header; the Status may say it, too. */
  readonly retryAfterMs?: number | undefined
  readonly asked: Asked
}
export interface Asked {
  readonly kind: WatchedKind
  readonly namespace: string | undefined
  /** Of the kubeconfig, for people. */
  readonly context: string
}

/** What a failed answer says: its Status, or one made of what came instead of it (plain text of a path nobody serves, a page of a proxy). */
export function statusOf(code: number, body: string): KubeStatus {
  const status = parseKubeStatus(body)
  if (status !== undefined) return { ...status, code: status.code === 0 ? code : status.code }
  const text = body.trim().replaceAll(/\s+/g, ' ').slice(0, 200)
  return { code, reason: code === 404 ? NO_SUCH_PATH : '', message: text, retryAfterMs: undefined, causes: [] }
}

/** Nobody serves this path: the kind, its version or its definition is missing, not an object. */
const NO_SUCH_PATH = 'NoSuchPath'

/** Seconds, as a header has them, in ms; a date or anything else is no answer. */
export function retryAfterOf(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1000 : undefined
}

export function toRefusal({ status, retryAfterMs, asked }: Refusal): LinkFailure {
  const { code, reason, message } = status
  const failureClass = classOfStatus(code) ?? 'protocol'
  const said = message === '' ? '' : `: ${message}`
  return new LinkFailure(failureClass, `HTTP ${code}${reason === '' || reason === NO_SUCH_PATH ? '' : ` ${reason}`}${said}`, {
    ...hintOf(status, asked),
    retryAfterMs: maxOf(retryAfterMs, status.retryAfterMs),
    endpointDown: isEndpointDown(code) && !isFutureVersion(status),
  })
}

function maxOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.max(a, b)
}

function hintOf(status: KubeStatus, asked: Asked): { readonly hint?: string } {
  const { kind, namespace, context } = asked
  const named = `${kind.group === '' ? '' : `${kind.group}/`}${kind.version} ${kind.kind}`
  switch (status.code) {
    case 401:
      return {
        hint: `The credentials of context ${context} were refused, read anew as well: check its token, client certificate or credential plugin, and whether it has expired.`,
      }
    case 403:
      return { hint: accessRule({ kind, namespace, message: status.message }) }
    case 404:
      return {
        hint:
          status.reason === NO_SUCH_PATH
            ? `The API server does not serve ${named}: its CustomResourceDefinition (${kind.plural}.${kind.group}) or this API version of it is missing. Install it, or change the watcher's apiVersion.`
            : `The API server serves ${named}, but not what was asked for${namespace === undefined ? '' : ` in namespace ${namespace}`}: check that the namespace exists.`,
      }
    case 504:
      return isFutureVersion(status)
        ? {
            hint: 'The server has not reached the version we have: it lags behind another, or its store was restored from a backup. After a few tries everything is read again.',
          }
        : {}
    default:
      return {}
  }
}

import { isRecord, listIn, numberIn, textIn } from './kube-object.ts'

/** The Status object a Kubernetes API server refuses with, as far as anyone here looks. */
export interface KubeStatus {
  readonly code: number
  /** '' when it gave none. */
  readonly reason: string
  readonly message: string
  readonly retryAfterMs: number | undefined
  readonly causes: readonly string[]
}

/** Undefined when it is no Status: an error page of something between, or the plain text of a path nobody serves. */
export function toKubeStatus(value: unknown): KubeStatus | undefined {
  if (!isRecord(value) || value['kind'] !== 'Status') return undefined
  const details = value['details']
  const seconds = numberIn(details, 'retryAfterSeconds')
  return {
    code: numberIn(value, 'code') ?? 0,
    reason: textIn(value, 'reason') ?? '',
    message: textIn(value, 'message') ?? '',
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
    causes: listIn(details, 'causes').map((cause) => textIn(cause, 'reason') ?? ''),
  }
}

export function parseKubeStatus(body: string): KubeStatus | undefined {
  try {
    return toKubeStatus(JSON.parse(body))
  } catch {
    return undefined
  }
}

/** We asked for a version the server has not reached: it lags behind another, or was restored from a backup. */
export function isFutureVersion({ code, causes, message }: KubeStatus): boolean {
  return code === 504 && (causes.includes('ResourceVersionTooLarge') || /too large resource version/i.test(message))
}

/** What we asked to go on from is no longer kept. */
export function isExpired({ code, reason }: KubeStatus): boolean {
  return code === 410 || reason === 'Expired' || reason === 'Gone'
}

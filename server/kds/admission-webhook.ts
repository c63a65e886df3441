import { CoreError } from '../lib/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { deadlineSignal, linkedController } from '../lib/signals.ts'
import type { NewId } from '../lib/random.ts'
import type { ResourceDraft } from '../model/resource.ts'
import type { ApplyDeps } from './apply-resources.ts'

/** Who is asked before a zone stores what came from its global. */
export interface WebhookConfig {
  readonly url: string
  readonly timeoutMs: number
  /** When it does not answer (5xx, no connection, too late): `Fail` ends the stream, which comes again; `Ignore` stores it. */
  readonly failurePolicy: 'Fail' | 'Ignore'
}

export interface WebhookDeps {
  readonly clock: Clock
  readonly newId: NewId
}

interface Review {
  readonly response?: { readonly allowed?: unknown; readonly status?: { readonly message?: unknown } }
}

const LONGEST_REASON = 1_000

/** Asks by AdmissionReview (admission.k8s.io/v1) over HTTP: `allowed: false` or a 4xx refuses, with the reason it gives. */
export function createAdmissionWebhook(
  { url, timeoutMs, failurePolicy }: WebhookConfig,
  { clock, newId }: WebhookDeps,
): NonNullable<ApplyDeps['admit']> {
  return async (draft, isNew, signal) => {
    const uid = newId()
    const deadline = deadlineSignal(clock, timeoutMs)
    const either = linkedController(signal, deadline.signal)
    let status: number
    let text: string
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(toReview(draft, { uid, isNew })),
        signal: either.signal,
      })
      status = answer.status
      text = await answer.text()
    } catch (error) {
      if (signal.aborted) throw signal.reason
      return unanswered(deadline.signal.aborted ? `did not answer within ${timeoutMs} ms` : `can't be reached: ${reasonOf(error)}`)
    } finally {
      either.release()
      deadline.release()
    }
    if (status >= 500) return unanswered(`answered ${status}`)
    if (status >= 400) return `the webhook answered ${status}: ${text.slice(0, LONGEST_REASON).trim() || 'without a reason'}`
    return verdict(text)
  }

  function verdict(text: string): string | undefined {
    let review: Review
    try {
      review = JSON.parse(text) as Review
    } catch {
      return unanswered('answered with what is no AdmissionReview')
    }
    if (review.response?.allowed === true) return undefined
    if (review.response?.allowed !== false) return unanswered('answered an AdmissionReview without response.allowed')
    const message = review.response.status?.message
    return typeof message === 'string' && message !== ''
      ? message.slice(0, LONGEST_REASON)
      : 'the webhook does not allow it, without a reason'
  }

  function unanswered(what: string): undefined {
    if (failurePolicy === 'Ignore') return undefined
    throw new CoreError('unavailable', `the admission webhook ${url} ${what}`)
  }
}

function toReview({ key, labels = {}, spec }: ResourceDraft, { uid, isNew }: { readonly uid: string; readonly isNew: boolean }) {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid,
      kind: { group: 'kuma.io', version: 'v1alpha1', kind: key.type },
      name: key.name,
      operation: isNew ? 'CREATE' : 'UPDATE',
      object: { type: key.type, ...(key.mesh !== '' && { mesh: key.mesh }), name: key.name, labels, spec },
    },
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}

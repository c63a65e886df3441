import type { FreshnessSigns, RejectedCount } from './freshness-signs.ts'
import { isRecord, type KubeObject, listIn, momentOf, numberIn, textIn } from './kube-object.ts'

/** Kuma moves the generation of an open subscription every half of its idle timeout (5 min by default), changed or not. */
const GENERATION_EVERY_MS = 150_000

/** Of Kuma's insight kinds that have subscriptions (data planes, zones, ingresses, egresses); undefined for all others. */
export function kumaSigns(object: KubeObject): FreshnessSigns | undefined {
  const content = [object.status, object.spec].find((part) => isRecord(part) && 'subscriptions' in part)
  if (content === undefined) return undefined
  const subscriptions = listIn(content, 'subscriptions')
  const open = subscriptions.findLast((subscription) => textIn(subscription, 'disconnectTime') === undefined)
  const last = open ?? subscriptions.at(-1)
  const since = momentOf(textIn(last, 'disconnectTime'))
  return {
    pulse: subscriptions.map((each) => `${textIn(each, 'id') ?? ''}:${numberIn(each, 'generation') ?? 0}`).join(' '),
    heartbeatMs: GENERATION_EVERY_MS,
    online: open !== undefined,
    ...(open === undefined && since !== undefined && { offlineSince: since }),
    rejected: rejectedOf(isRecord(last) ? last['status'] : undefined),
    remarks: last === undefined ? ['It has never been connected.'] : [],
  }
}

/** Counters are strings, and absent is 0. */
function rejectedOf(status: unknown): Readonly<Record<string, RejectedCount>> {
  if (!isRecord(status)) return {}
  const perType = { ...status, ...(isRecord(status['stat']) ? status['stat'] : {}) }
  return Object.fromEntries(
    Object.entries(perType).flatMap(([type, counts]) => {
      if (type === 'total' || type === 'stat' || !isRecord(counts)) return []
      const counted = { rejected: countIn(counts, 'responsesRejected'), acknowledged: countIn(counts, 'responsesAcknowledged') }
      return counted.rejected === 0 && counted.acknowledged === 0 ? [] : [[type, counted] as const]
    }),
  )
}

function countIn(counts: unknown, field: string): number {
  const count = numberIn(counts, field) ?? Number(textIn(counts, field) ?? 0)
  return Number.isFinite(count) ? count : 0
}

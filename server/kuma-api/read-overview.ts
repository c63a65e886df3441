import { countIn, isRecord, listIn, momentOf, numberIn, textIn, valueAt } from '../lib/json-fields.ts'
import type { Subscription, TypeStatus } from '../model/insight.ts'
import { parseTheirSettings, type TheirSettings } from './their-settings.ts'

/** A data plane as the API lists it. */
export interface SeenDataplane {
  readonly mesh: string
  /** As it is stored there: on a global with the suffix that its zone's sync gave it. */
  readonly storedName: string
  /** As its zone calls it. */
  readonly name: string
  readonly zone: string | undefined
  readonly subscriptions: readonly Subscription[]
}

export interface SeenZone {
  readonly name: string
  readonly enabled: boolean | null
  /** It has a ZoneInsight, which a zone alone has not. */
  readonly hasInsight: boolean
  /** It connected a moment ago: its streams are there before its first subscription is. */
  readonly isConnecting: boolean
  readonly subscriptions: readonly Subscription[]
  /** What it said of its own configuration when it connected last; undefined when it did not, or not in JSON. */
  readonly settings: TheirSettings | undefined
}

export interface SeenMesh {
  readonly name: string
  readonly modifiedAt: number
  /** Null when it does not say. */
  readonly counted: { readonly total: number; readonly online: number } | null
  readonly content: Readonly<Record<string, unknown>>
}

const ORIGIN_ZONE = 'kuma.io/zone'
const DISPLAY_NAME = 'kuma.io/display-name'
const SHORT_TYPES: Readonly<Record<string, string>> = { cds: 'CDS', eds: 'EDS', lds: 'LDS', rds: 'RDS', sds: 'SDS' }

/** One item of `/meshes/{m}/dataplanes/_overview`; undefined when it lacks what every one has. */
export function readDataplane(item: unknown): SeenDataplane | undefined {
  const [mesh, storedName] = [textIn(item, 'mesh'), textIn(item, 'name')]
  if (mesh === undefined || storedName === undefined || storedName === '') return undefined
  const labels = valueAt(item, ['labels'])
  return {
    mesh,
    storedName,
    name: textIn(labels, DISPLAY_NAME) ?? storedName,
    zone: textIn(labels, ORIGIN_ZONE),
    subscriptions: readSubscriptions(valueAt(item, ['dataplaneInsight']), 'controlPlaneInstanceId'),
  }
}

/** One item of `/zones/_overview`. */
export function readZone(item: unknown): SeenZone | undefined {
  const name = textIn(item, 'name')
  if (name === undefined || name === '') return undefined
  const insight = valueAt(item, ['zoneInsight'])
  const enabled = valueAt(item, ['zone', 'enabled'])
  const subscriptions = readSubscriptions(insight, 'globalInstanceId')
  const streams = valueAt(insight, ['kdsStreams'])
  return {
    name,
    enabled: typeof enabled === 'boolean' ? enabled : null,
    hasInsight: isRecord(insight),
    isConnecting: subscriptions.length === 0 && isRecord(streams) && Object.keys(streams).length > 0,
    subscriptions,
    settings: parseTheirSettings(
      listIn(insight, 'subscriptions')
        .map((each) => textIn(each, 'config'))
        .findLast((text) => text !== undefined && text !== ''),
    ),
  }
}

/** One item of `/mesh-insights`. */
export function readMesh(item: unknown): SeenMesh | undefined {
  const name = textIn(item, 'name')
  if (name === undefined || !isRecord(item)) return undefined
  const { dataplanes, dpVersions, mTLS, services, resources, policies } = item
  const counts = isRecord(dataplanes) ? { total: countIn(dataplanes, 'total'), online: countIn(dataplanes, 'online') } : null
  return {
    name,
    modifiedAt: momentOf(textIn(item, 'modificationTime')) ?? 0,
    counted: counts,
    content: { dataplanes, dpVersions, mTLS, services, resources: resources ?? policies },
  }
}

/** When an insight was last written there, by mesh and stored name: the overview does not say. */
export function readWrittenAt(item: unknown): readonly [name: string, at: number] | undefined {
  const name = textIn(item, 'name')
  const at = momentOf(textIn(item, 'modificationTime'))
  return name === undefined || at === undefined ? undefined : [name, at]
}

function readSubscriptions(insight: unknown, instanceField: string): readonly Subscription[] {
  return listIn(insight, 'subscriptions').flatMap((each, index): readonly Subscription[] => {
    const connectedAt = momentOf(textIn(each, 'connectTime'))
    if (connectedAt === undefined) return []
    const disconnectedAt = momentOf(textIn(each, 'disconnectTime'))
    const agent = agentOf(valueAt(each, ['version']))
    return [
      {
        id: textIn(each, 'id') ?? `${connectedAt}-${index}`,
        instance: textIn(each, instanceField) ?? 'unknown',
        // The API does not tell which; a stream between control planes is always delta.
        ...(instanceField === 'globalInstanceId' && { variant: 'delta' as const }),
        connectedAt,
        ...(disconnectedAt !== undefined && { disconnectedAt }),
        generation: numberIn(each, 'generation') ?? 0,
        types: readTypes(valueAt(each, ['status'])),
        ...(agent !== undefined && { agent }),
      },
    ]
  })
}

/** Counters are text, and absent is 0. Of a zone they stand under `stat`. */
function readTypes(status: unknown): Readonly<Record<string, TypeStatus>> {
  const lastAt = momentOf(textIn(status, 'lastUpdateTime')) ?? 0
  const stat = valueAt(status, ['stat'])
  const perType = isRecord(stat) ? stat : isRecord(status) ? status : {}
  return Object.fromEntries(
    Object.entries(perType).flatMap(([type, counts]) => {
      if (type === 'total' || type === 'stat' || !isRecord(counts)) return []
      const sent = countIn(counts, 'responsesSent')
      const acked = countIn(counts, 'responsesAcknowledged')
      const nacked = countIn(counts, 'responsesRejected')
      if (sent + acked + nacked === 0) return []
      return [[SHORT_TYPES[type] ?? type, { sent, acked, nacked, lastAt }] as const]
    }),
  )
}

function agentOf(version: unknown): string | undefined {
  const [cp, dp, envoy] = [['kumaCp'], ['kumaDp'], ['envoy']].map((path) => textIn(valueAt(version, path), 'version'))
  const parts = [
    ...(cp === undefined ? [] : [`kuma-cp ${cp}`]),
    ...(dp === undefined ? [] : [`kuma-dp ${dp}`]),
    ...(envoy === undefined ? [] : [`envoy ${envoy}`]),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

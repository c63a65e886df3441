import type { DataplaneInsight as WireInsight, DataplaneInsight__Output } from '../gen/kuma/mesh/v1alpha1/DataplaneInsight.ts'
import type { DiscoverySubscription__Output } from '../gen/kuma/mesh/v1alpha1/DiscoverySubscription.ts'
import type { DiscoveryServiceStats__Output } from '../gen/kuma/mesh/v1alpha1/DiscoveryServiceStats.ts'
import type { DataplaneInsight, MtlsStatus, Subscription, TypeStatus } from '../model/insight.ts'

/** Between a DataplaneInsight as it is stored here and as it crosses. Generations do not cross: a heartbeat is the zone's own. */

const TYPES = ['cds', 'eds', 'lds', 'rds'] as const

export function toWireInsight(insight: DataplaneInsight): WireInsight {
  const { subscriptions, mtls } = insight
  const quiet = { ...insight, subscriptions: subscriptions.map((each) => ({ ...each, generation: 0 })) }
  return {
    subscriptions: subscriptions.map(({ id, instance, connectedAt, disconnectedAt, types, agent }) => ({
      id,
      control_plane_instance_id: instance,
      connect_time: toTimestamp(connectedAt),
      ...(disconnectedAt !== undefined && { disconnect_time: toTimestamp(disconnectedAt) }),
      status: {
        last_update_time: toTimestamp(Math.max(connectedAt, ...Object.values(types).map(({ lastAt }) => lastAt))),
        total: statsOf(Object.values(types)),
        ...Object.fromEntries(TYPES.map((type) => [type, statsOf([types[type.toUpperCase()]])])),
      },
      ...(agent !== undefined && { version: { envoy: { version: agent } } }),
    })),
    ...(mtls !== undefined && {
      mTLS: {
        certificate_expiration_time: toTimestamp(mtls.certificateExpiresAt),
        last_certificate_regeneration: toTimestamp(mtls.certificateRegeneratedAt),
        certificate_regenerations: mtls.certificateRegenerations,
        issuedBackend: mtls.issuedBackend,
      },
    }),
    tidewatch: JSON.stringify(quiet),
  }
}

export function fromWireInsight({ subscriptions, mTLS, tidewatch }: DataplaneInsight__Output): DataplaneInsight {
  if (tidewatch !== '') return JSON.parse(tidewatch) as DataplaneInsight
  return {
    subscriptions: subscriptions.map(toSubscription),
    ...(mTLS !== null && {
      mtls: {
        certificateExpiresAt: toEpoch(mTLS.certificate_expiration_time) ?? 0,
        certificateRegeneratedAt: toEpoch(mTLS.last_certificate_regeneration) ?? 0,
        certificateRegenerations: mTLS.certificate_regenerations,
        issuedBackend: mTLS.issuedBackend,
      } satisfies MtlsStatus,
    }),
  }
}

function toSubscription({
  id,
  control_plane_instance_id,
  connect_time,
  disconnect_time,
  status,
  version,
}: DiscoverySubscription__Output): Subscription {
  const lastAt = toEpoch(status?.last_update_time) ?? toEpoch(connect_time) ?? 0
  const types = TYPES.flatMap((type) => {
    const stats = status?.[type]
    return stats === null || stats === undefined ? [] : [[type.toUpperCase(), toTypeStatus(stats, lastAt)] as const]
  })
  const disconnectedAt = toEpoch(disconnect_time)
  const agent = version?.envoy?.version ?? ''
  return {
    id,
    instance: control_plane_instance_id,
    variant: 'delta',
    connectedAt: toEpoch(connect_time) ?? 0,
    ...(disconnectedAt !== undefined && { disconnectedAt }),
    generation: 0,
    types: Object.fromEntries(types),
    ...(agent !== '' && { agent: agent.includes(' ') ? agent : `envoy ${agent}` }),
  }
}

/** Rejected more often than anything was taken since: it does not say whether that lasts, so only what never was taken counts as refused. */
function toTypeStatus(
  { responses_sent: sent, responses_acknowledged: acked, responses_rejected: nacked }: DiscoveryServiceStats__Output,
  lastAt: number,
): TypeStatus {
  const isRefused = nacked > 0 && acked === 0
  return {
    sent,
    acked,
    nacked,
    lastAt,
    ...(isRefused && { rejection: { reason: 'the zone does not say why', since: lastAt, times: nacked } }),
  }
}

function statsOf(types: readonly (TypeStatus | undefined)[]) {
  const sum = (count: (status: TypeStatus) => number) => types.reduce((total, type) => total + (type === undefined ? 0 : count(type)), 0)
  return {
    responses_sent: sum(({ sent }) => sent),
    responses_acknowledged: sum(({ acked }) => acked),
    responses_rejected: sum(({ nacked }) => nacked),
  }
}

function toTimestamp(at: number) {
  return { seconds: Math.floor(at / 1000), nanos: Math.round((at % 1000) * 1e6) }
}

function toEpoch(time: { readonly seconds: number; readonly nanos: number } | null | undefined): number | undefined {
  return time === null || time === undefined ? undefined : time.seconds * 1000 + Math.floor(time.nanos / 1e6)
}

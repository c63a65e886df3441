import type { ResourceKey } from './resource.ts'

/** What is known of one resource type on one discovery stream. Counts are of responses. */
export interface TypeStatus {
  readonly sent: number
  readonly acked: number
  readonly nacked: number
  /** Set while the peer rejects this type: its reason, and since when (epoch ms). An ACK clears it. */
  readonly rejection?: Rejection
  /** The last rejection that a later ACK ended: it was transient. */
  readonly recovered?: Rejection & { readonly until: number }
  /** Epoch ms of the last response sent or answered. */
  readonly lastAt: number
}

export interface Rejection {
  /** In the peer's words. */
  readonly reason: string
  /** Epoch ms of the first NACK in a row. */
  readonly since: number
  /** NACKs in a row. */
  readonly times?: number
  /** What it may be about: of a state-of-the-world response, the resources that were new in it. */
  readonly resources?: readonly string[]
}

/** One connection of a subject to one instance, from connect to disconnect. */
export interface Subscription {
  /** Unique per connection. */
  readonly id: string
  /** The Tidewatch instance it is (or was) connected to. */
  readonly instance: string
  /** Absent where nobody says: of data planes of an attached control plane. */
  readonly variant?: 'sotw' | 'delta'
  /** Epoch ms. */
  readonly connectedAt: number
  /** Epoch ms; absent while connected. */
  readonly disconnectedAt?: number
  /** Moves at least once per heartbeat while the sink lives: tells "quiet" from "dead". Compared for change only, never for order. */
  readonly generation: number
  /** By short type: CDS, EDS, LDS, RDS, SDS, or a KDS type. */
  readonly types: Readonly<Record<string, TypeStatus>>
  /** What the peer says it is, for example `envoy 1.40.0`. */
  readonly agent?: string
  /** Of a stream between control planes: which way resources go on it. */
  readonly direction?: 'down' | 'up'
  /** Of a zone: its whole configuration, as it told it. */
  readonly config?: string
  /** Of a zone: epoch ms when it last said that it lives. */
  readonly healthAt?: number
}

/** Spec of a DataplaneInsight: its last subscriptions, oldest first, and what `identity` writes beside them. */
export interface DataplaneInsight {
  readonly subscriptions: readonly Subscription[]
  readonly mtls?: MtlsStatus
}

/** Written by `identity` alone. Times are epoch ms. */
export interface MtlsStatus {
  readonly certificateExpiresAt: number
  readonly certificateRegeneratedAt: number
  readonly certificateRegenerations: number
  readonly issuedBackend: string
}

/** Subscriptions kept per data plane; older ones are dropped. */
export const DATAPLANE_SUBSCRIPTIONS_KEPT = 2
/** The same per zone: each connection has two. */
export const ZONE_SUBSCRIPTIONS_KEPT = 10

/** Puts `next` in the place of the subscription with its id, else at the end, and keeps the last `keep`. */
export function withSubscription(subscriptions: readonly Subscription[], next: Subscription, keep: number): readonly Subscription[] {
  const index = subscriptions.findIndex(({ id }) => id === next.id)
  const all = index === -1 ? [...subscriptions, next] : subscriptions.with(index, next)
  return all.length > keep ? all.slice(-keep) : all
}

/** Online while any subscription is open. */
export function isOnline(insight: Pick<DataplaneInsight, 'subscriptions'>): boolean {
  return insight.subscriptions.some(({ disconnectedAt }) => disconnectedAt === undefined)
}

/** Short types the peer of the newest open subscription rejects now. */
export function rejectedTypes(insight: Pick<DataplaneInsight, 'subscriptions'>): readonly string[] {
  const open = insight.subscriptions.findLast(({ disconnectedAt }) => disconnectedAt === undefined)
  return open === undefined ? [] : Object.entries(open.types).flatMap(([type, status]) => (status.rejection === undefined ? [] : [type]))
}

/** The insight of a subject has its mesh and name. */
export function insightKeyOf(subject: ResourceKey): ResourceKey {
  return { type: `${subject.type}Insight`, mesh: subject.mesh, name: subject.name }
}

export function subjectKeyOf(insight: ResourceKey): ResourceKey {
  return { type: insight.type.replace(/Insight$/, ''), mesh: insight.mesh, name: insight.name }
}

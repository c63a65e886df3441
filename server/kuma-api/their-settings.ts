import { textIn, valueAt } from '../lib/json-fields.ts'
import { parseGoDuration } from '../model/go-duration.ts'

/** Intervals of a Kuma control plane that decide how late its status is, where they are set and what they are by default. Read at its boot only. */
const intervals = {
  dataplaneFlush: ['xdsServer.dataplaneStatusFlushInterval', 'KUMA_XDS_SERVER_DATAPLANE_STATUS_FLUSH_INTERVAL', '10s'],
  nackBackoff: ['xdsServer.nackBackoff', 'KUMA_XDS_SERVER_NACK_BACKOFF', '5s'],
  zoneFlush: ['multizone.global.kds.zoneInsightFlushInterval', 'KUMA_MULTIZONE_GLOBAL_KDS_ZONE_INSIGHT_FLUSH_INTERVAL', '10s'],
  dataplaneIdle: ['metrics.dataplane.idleTimeout', 'KUMA_METRICS_DATAPLANE_IDLE_TIMEOUT', '5m0s'],
  zoneIdle: ['metrics.zone.idleTimeout', 'KUMA_METRICS_ZONE_IDLE_TIMEOUT', '5m0s'],
  meshResync: ['metrics.mesh.fullResyncInterval', 'KUMA_METRICS_MESH_FULL_RESYNC_INTERVAL', '20s'],
} as const satisfies Record<string, readonly [path: string, variable: string, initial: string]>
export type IntervalName = keyof typeof intervals

export interface KumaInterval {
  readonly path: string
  readonly variable: string
  /** As it is written there. */
  readonly text: string
  readonly ms: number
  /** It was not said, or is no duration: Kuma's default. */
  readonly isAssumed: boolean
}

export interface TheirSettings {
  /** Undefined while it is not known. */
  readonly mode: 'global' | 'zone' | undefined
  readonly zone: string | undefined
  /** A zone that has a global: its meshes have no insights here. */
  readonly isFederated: boolean
  readonly intervals: Readonly<Record<IntervalName, KumaInterval>>
}

/** Of `/config`, or of the configuration in a zone's subscription. What is missing is Kuma's default, and says so. */
export function toTheirSettings(config: unknown): TheirSettings {
  const mode = textIn(config, 'mode')
  return {
    mode: mode === 'global' || mode === 'zone' ? mode : mode === 'standalone' ? 'zone' : undefined,
    zone: textIn(valueAt(config, ['multizone', 'zone']), 'name'),
    isFederated: (textIn(valueAt(config, ['multizone', 'zone']), 'globalAddress') ?? '') !== '',
    intervals: Object.fromEntries(
      Object.entries(intervals).map(([name, [path, variable, initial]]) => {
        const found = valueAt(config, path.split('.'))
        const ms = typeof found === 'string' ? parseGoDuration(found) : undefined
        const isAssumed = ms === undefined || ms <= 0
        const text = isAssumed || typeof found !== 'string' ? initial : found
        return [name, { path, variable, text, ms: isAssumed ? (parseGoDuration(initial) ?? 0) : ms, isAssumed }]
      }),
    ) as Record<IntervalName, KumaInterval>,
  }
}

/** A subscription carries it as text; what is no JSON is as if it were not there. */
export function parseTheirSettings(text: string | undefined): TheirSettings | undefined {
  if (text === undefined || text === '') return undefined
  try {
    return toTheirSettings(JSON.parse(text))
  } catch {
    return undefined
  }
}

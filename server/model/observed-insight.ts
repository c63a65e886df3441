import type { Subscription } from './insight.ts'
import type { RemoteSetting } from './remote-zone.ts'
import type { ResourceKey } from './resource.ts'
import type { InsightRow, WriteRecord } from './views.ts'

/**
 * Status that somebody else stores and we only watch: an object of a cluster, an insight of an attached control plane. It is
 * listed beside our own insights and judged by the same rule, each by a cadence of its own.
 */
export interface ObservedInsight extends Pick<
  InsightRow,
  'online' | 'offlineSince' | 'pendingSince' | 'heartbeatAt' | 'cadenceMs' | 'heartbeatMs' | 'version' | 'writer' | 'modifiedAt' | 'nacked'
> {
  /** `name` is `<source>/<name over there>`: no stored resource has a slash in its name, so the two never meet. */
  readonly key: ResourceKey
  readonly subject: ResourceKey
  /** The link it was seen through. */
  readonly source: string
  readonly complaints?: readonly string[]
  readonly contenders?: readonly string[]
  /** What one should know of it besides its age, in whole sentences: who contends for it, which interval of theirs is the cause. */
  readonly note?: string
  readonly subscriptions?: readonly Subscription[]
  readonly writes?: readonly WriteRecord[]
  readonly content?: Readonly<Record<string, unknown>>
  /** Intervals of theirs that decide how late it is, and where they are set. */
  readonly settings?: readonly RemoteSetting[]
}

/** Where links put what they see. Implemented by the board. */
export interface ObservedInsights {
  /** Adds it or puts it in the place of the one with its key. Cheap: called for every event. */
  set(insight: ObservedInsight): void
  remove(key: ResourceKey): void
}

/** Through which links, and of which meshes ('' = of none), these were seen: each once; none for our own. */
export function placesOf(keys: Iterable<ResourceKey>): readonly (readonly [link: string, mesh: string])[] {
  const places = new Map<string, readonly [string, string]>()
  for (const { name, mesh } of keys) {
    const link = name.slice(0, Math.max(0, name.indexOf('/')))
    if (link !== '') places.set(`${link} ${mesh}`, [link, mesh])
  }
  return [...places.values()]
}

import type { ObservedInsight } from '../model/observed-insight.ts'
import { type FreshnessRule, freshnessSigns, type FreshnessSigns } from './freshness-signs.ts'
import { type KubeObject, momentOf, textIn } from './kube-object.ts'
import { contentionOf, nextWriters, type Writers } from './writers.ts'

/** What is kept of a watched object: enough to judge its freshness and to tell what changes. */
export interface ObjectFacts {
  readonly signs: FreshnessSigns
  readonly writers: Writers
  /** Epoch ms; 0: it has shown no sign of life. */
  readonly heartbeatAt: number
  readonly pendingSince: number | null
  readonly offlineSince: number | null
  readonly rejectedTypes: readonly string[]
}

/** How long a controller may take to see a new generation before it is late. */
const OBSERVE_WITHIN_MS = 10_000

/** `now` is the wall clock. */
export function nextObjectFacts(
  object: KubeObject,
  before: ObjectFacts | undefined,
  context: { readonly now: number; readonly named: { readonly apiVersion: string; readonly kind: string }; readonly rule: FreshnessRule },
): ObjectFacts {
  const { now } = context
  const signs = freshnessSigns(object, context.named, context.rule)
  const writers = nextWriters(object, before?.writers, now)
  return {
    signs,
    writers,
    heartbeatAt: heartbeatOf(signs, before, { now, modifiedAt: writers.modifiedAt }),
    pendingSince: pendingSinceOf(signs, before, { now, since: specWrittenAt(object) }),
    offlineSince: signs.online ? null : (signs.offlineSince ?? before?.offlineSince ?? now),
    rejectedTypes: rejectedTypes(signs, before),
  }
}

function heartbeatOf(
  signs: FreshnessSigns,
  before: ObjectFacts | undefined,
  { now, modifiedAt }: { now: number; modifiedAt: number },
): number {
  if (signs.isSilent) return 0
  if (signs.renewedAt !== undefined) return Math.min(signs.renewedAt, now)
  // It is never renewed: what waits is judged alone.
  if (signs.pulse === undefined) return Math.min(modifiedAt, now)
  if (before === undefined) return Math.min(signs.firstGuessAt ?? now, now)
  return before.signs.pulse === signs.pulse ? before.heartbeatAt : now
}

function pendingSinceOf(
  signs: FreshnessSigns,
  before: ObjectFacts | undefined,
  { now, since }: { now: number; since: number | undefined },
): number | null {
  if (signs.behind === undefined) return null
  if (before === undefined) return Math.min(since ?? now, now)
  const isSame = before.signs.behind?.observed === signs.behind.observed
  return isSame && before.pendingSince !== null ? before.pendingSince : now
}

/** When what its controller has to follow was last written, as far as the object says. */
function specWrittenAt({ metadata }: KubeObject): number | undefined {
  const moments = (metadata.managedFields ?? [])
    .filter(({ subresource }) => subresource === undefined || subresource === '')
    .flatMap(({ time }) => momentOf(time) ?? [])
  return moments.length === 0 ? momentOf(metadata.creationTimestamp) : Math.max(...moments)
}

/** Rejected while refusals grow, or where nothing was ever acknowledged; until something is. */
function rejectedTypes(signs: FreshnessSigns, before: ObjectFacts | undefined): readonly string[] {
  const was = before?.signs.rejected ?? {}
  return Object.entries(signs.rejected ?? {}).flatMap(([type, { rejected, acknowledged }]) => {
    if (rejected === 0) return []
    const known = was[type]
    if (acknowledged === 0) return [type]
    if (known === undefined) return []
    if (rejected > known.rejected) return [type]
    return before!.rejectedTypes.includes(type) && acknowledged === known.acknowledged ? [type] : []
  })
}

/** A sign of life from elsewhere: of a Node, its lease. */
export interface OtherHeartbeat {
  readonly heartbeatAt: number
  readonly heartbeatMs: number
}

export interface InsightOf {
  readonly watcher: string
  readonly kind: string
  /** `namespace/name` */
  readonly name: string
  readonly version: string
  readonly facts: ObjectFacts
  readonly other?: OtherHeartbeat | undefined
}

/** As it is listed beside our own insights. */
export function watchedInsight({ watcher, kind, name, version, facts, other }: InsightOf): ObservedInsight {
  const { signs, writers } = facts
  const contention = contentionOf(writers.turns)
  const { complaints = [], remarks } = signs
  const note = [...(contention === undefined ? [] : [contention.sentence]), ...complaints, ...remarks].join(' ')
  return {
    key: watchedKey({ watcher, kind, name }),
    subject: { type: kind, mesh: '', name },
    source: watcher,
    online: signs.online,
    offlineSince: facts.offlineSince,
    pendingSince: facts.pendingSince,
    heartbeatAt: other?.heartbeatAt ?? facts.heartbeatAt,
    heartbeatMs: other?.heartbeatMs ?? signs.heartbeatMs,
    cadenceMs: signs.heartbeatMs > 0 ? signs.heartbeatMs : OBSERVE_WITHIN_MS,
    version,
    writer: writers.writer,
    modifiedAt: writers.modifiedAt,
    nacked: facts.rejectedTypes,
    ...(complaints.length > 0 && { complaints }),
    ...(contention !== undefined && { contenders: contention.contenders }),
    ...(note !== '' && { note }),
    ...(writers.turns.length > 0 && {
      writes: writers.turns.map((turn) => ({
        at: turn.at,
        writer: turn.writer,
        instance: turn.subresource,
        version: turn.version,
        outcome: 'written' as const,
      })),
    }),
  }
}

export function watchedKey({ watcher, kind, name }: Pick<InsightOf, 'watcher' | 'kind' | 'name'>) {
  return { type: kind, mesh: '', name: `${watcher}/${name}` }
}

/** Times of Kubernetes are whole seconds but for a few: then this is the latest it can have been, so that a lag is never made up. */
const REST_OF_SECOND_MS = 999
/** What is older than this did not just happen: an old event is no lag. */
const LAG_WITHIN_MS = 3_600_000

/** When an object was last written over there (epoch ms), by what it says itself; undefined when nothing recent does. */
export function changedAt({ spec, metadata }: KubeObject, now: number): number | undefined {
  const renewed = momentOf(textIn(spec, 'renewTime'))
  const written = (metadata.managedFields ?? []).reduce((newest, { time }) => Math.max(newest, momentOf(time) ?? 0), 0)
  const at = renewed ?? (written === 0 ? undefined : written + REST_OF_SECOND_MS)
  return at === undefined || now - at > LAG_WITHIN_MS ? undefined : at
}

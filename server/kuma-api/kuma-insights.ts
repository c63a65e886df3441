import { isOnline, type Subscription } from '../model/insight.ts'
import type { ObservedInsight } from '../model/observed-insight.ts'
import type { RemoteSetting } from '../model/remote-zone.ts'
import type { SeenDataplane, SeenMesh, SeenZone } from './read-overview.ts'
import type { KumaInterval, TheirSettings } from './their-settings.ts'

/** What is remembered of one subject between two polls: what only differences tell. Moments are ours, epoch ms. */
export interface SubjectFacts {
  /** Changes when a generation moves, a stream comes or goes, or a counter is written. */
  readonly pulse: string
  /** When we saw it change. */
  readonly heartbeatAt: number
  readonly counts: Readonly<Record<string, { readonly nacked: number; readonly acked: number }>>
  readonly rejectedTypes: readonly string[]
  readonly rejectedSince: number
}

/** `now` is the wall clock. */
export function nextSubjectFacts(subscriptions: readonly Subscription[], before: SubjectFacts | undefined, now: number): SubjectFacts {
  const pulse = subscriptions.map(({ id, generation, types }) => `${id} ${generation} ${Object.values(types)[0]?.lastAt ?? 0}`).join()
  const open = subscriptions.findLast(({ disconnectedAt }) => disconnectedAt === undefined)
  const counts = Object.fromEntries(
    Object.entries(open?.types ?? {}).map(([type, { nacked, acked }]) => [`${open?.id} ${type}`, { nacked, acked }]),
  )
  const rejectedTypes = Object.entries(open?.types ?? {}).flatMap(([type, { nacked, acked }]) => {
    if (nacked === 0) return []
    if (acked === 0) return [type]
    const known = before?.counts[`${open?.id} ${type}`]
    // What stood there when we came, beside later ACKs, is history.
    if (known === undefined) return []
    if (nacked > known.nacked) return [type]
    return before?.rejectedTypes.includes(type) === true && acked === known.acked ? [type] : []
  })
  return {
    pulse,
    heartbeatAt: before === undefined || before.pulse !== pulse ? now : before.heartbeatAt,
    counts,
    rejectedTypes,
    rejectedSince: before === undefined || before.rejectedTypes.length === 0 ? now : before.rejectedSince,
  }
}

/** From a change in a zone to the global's store, beyond the zone's own flush. */
const TRANSPORT_MS = 3_000
/** A write that waited for this share of an interval waited because of it. */
const CAUSE_SHARE = 0.5
const UNKNOWN = 'unknown'

/** A zone as a global tells of it. */
export interface KnownZone {
  readonly seen: SeenZone
  readonly facts: SubjectFacts
}

export interface DataplaneView {
  readonly link: string
  /** At most so long after it, a move is seen. */
  readonly readEveryMs: number
  readonly seen: SeenDataplane
  readonly facts: SubjectFacts
  /** When the insight was last written there; undefined where nobody says. */
  readonly writtenAt?: number | undefined
  /** Of the control plane we read from. */
  readonly theirs: TheirSettings
  /** On a global: its zone. */
  readonly zone: KnownZone | undefined
}

/** A data plane as it is listed beside our own. Its heartbeat is its own on a zone, and on a global that of its zone: none of its own travels there. */
export function dataplaneInsight(view: DataplaneView): ObservedInsight {
  const { link, readEveryMs, seen, facts, writtenAt, theirs, zone } = view
  const isGlobal = theirs.mode === 'global'
  const { subscriptions } = seen
  const online = isOnline({ subscriptions })
  const holder = isGlobal ? zone?.seen.settings : theirs
  const of = ownerOf(isGlobal ? seen.zone : theirs.zone, isGlobal)
  const flush = (holder ?? theirs).intervals.dataplaneFlush
  const isZoneAway = isGlobal && zone !== undefined && !isOnline(zone.seen)
  const lagMs = lagOf(subscriptions, writtenAt)
  const settings = dataplaneSettings({
    // The global's own value is not its zone's.
    flush: isGlobal && holder === undefined ? { ...flush, isAssumed: true } : flush,
    nack: (holder ?? theirs).intervals.nackBackoff,
    of,
    lagMs,
    isRejecting: facts.rejectedTypes.length > 0,
    isGlobal,
  })
  const isKnown = subscriptions.length > 0 && theirs.mode !== undefined && !(isGlobal && (zone === undefined || isZoneAway))
  const notes = [
    ...(subscriptions.length === 0 ? ['It has never been connected.'] : []),
    ...(theirs.mode === undefined
      ? [`${link} does not tell whether it is a global or a zone (its /config), and without that nothing tells how fresh this is.`]
      : []),
    ...(isZoneAway ? [`Its zone ${seen.zone} is not connected to the global, so this is what was last known of it.`] : []),
    ...(isGlobal && zone === undefined && subscriptions.length > 0
      ? ['Its zone is not known, and without it nothing tells how fresh this is.']
      : []),
    ...causeNote(settings, lagMs),
    ...(isGlobal && isKnown ? ['Judged by its zone: no heartbeat of a data plane travels to a global.'] : []),
  ]
  return {
    key: { type: 'DataplaneInsight', mesh: seen.mesh, name: dataplaneName(link, seen, isGlobal) },
    subject: { type: 'Dataplane', mesh: seen.mesh, name: seen.name },
    source: link,
    ...lifeOf(subscriptions),
    pendingSince: null,
    heartbeatAt: !isKnown ? 0 : isGlobal ? (zone?.facts.heartbeatAt ?? 0) : facts.heartbeatAt,
    cadenceMs: flush.ms + (isGlobal ? TRANSPORT_MS : 0),
    heartbeatMs: heartbeatOf(isGlobal ? theirs.intervals.zoneIdle : theirs.intervals.dataplaneIdle, readEveryMs),
    version: UNKNOWN,
    writer: UNKNOWN,
    modifiedAt: writtenAt ?? 0,
    nacked: online ? facts.rejectedTypes : [],
    subscriptions: withRejections(subscriptions, facts),
    settings,
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

function dataplaneName(link: string, { zone, name }: SeenDataplane, isGlobal: boolean): string {
  return isGlobal && zone !== undefined ? `${link}/${zone}/${name}` : `${link}/${name}`
}

function ownerOf(zone: string | undefined, isGlobal: boolean): string {
  if (zone !== undefined) return `zone ${zone}`
  return isGlobal ? 'its zone' : 'this zone'
}

/** A generation moves twice in an idle timeout; what we read less often than that we cannot see move more often. */
function heartbeatOf({ ms }: KumaInterval, readEveryMs: number): number {
  return Math.max(ms / 2, 2 * readEveryMs)
}

/** From the last change to the last write there, both by their clock; undefined where nobody says. */
function lagOf(subscriptions: readonly Subscription[], writtenAt: number | undefined): number | undefined {
  const last = subscriptions.at(-1)
  if (writtenAt === undefined || last === undefined) return undefined
  const changedAt = Math.max(last.connectedAt, last.disconnectedAt ?? 0, ...Object.values(last.types).map(({ lastAt }) => lastAt))
  const lag = writtenAt - changedAt
  return lag >= 0 ? lag : undefined
}

/**
 * Whether the last change waited for the interval. Writes are at least an interval apart, so a write within one (and a half, for it
 * takes a moment too) of a change is the first after it; a later one is a heartbeat's, and tells nothing of the change.
 */
function isWaitOf({ ms }: KumaInterval, lagMs: number | undefined, transportMs = 0): boolean {
  return lagMs !== undefined && lagMs >= ms * CAUSE_SHARE && lagMs <= ms * 1.5 + transportMs
}

interface DataplaneIntervals {
  readonly flush: KumaInterval
  readonly nack: KumaInterval
  readonly of: string
  readonly lagMs: number | undefined
  readonly isRejecting: boolean
  readonly isGlobal: boolean
}

function dataplaneSettings({ flush, nack, of, lagMs, isRejecting, isGlobal }: DataplaneIntervals): readonly RemoteSetting[] {
  return [
    toSetting(flush, {
      of,
      isCause: isWaitOf(flush, lagMs, isGlobal ? TRANSPORT_MS : 0),
      effect: `A change of its status waits up to ${flush.text} for its next write${isGlobal ? ', and 2 to 3 s more to reach the global' : ''}.`,
    }),
    ...(isRejecting
      ? [toSetting(nack, { of, isCause: false, effect: `What it rejects is sent again every ${nack.text}, until it is mended.` })]
      : []),
  ]
}

function toSetting(
  { path, text, isAssumed, variable }: KumaInterval,
  about: Pick<RemoteSetting, 'of' | 'effect' | 'isCause'>,
): RemoteSetting {
  return { ...about, path, value: text, isAssumed, variable, helm: `controlPlane.envVars.${variable}` }
}

function causeNote(settings: readonly RemoteSetting[], lagMs: number | undefined): readonly string[] {
  const cause = settings.find(({ isCause }) => isCause)
  if (cause === undefined || lagMs === undefined) return []
  return [
    `Its last change was written after ${(lagMs / 1000).toFixed(1)} s because ${cause.path} of ${cause.of} is ${cause.value}: set ${cause.variable} there to change it.`,
  ]
}

function lifeOf(subscriptions: readonly Subscription[]): Pick<ObservedInsight, 'online' | 'offlineSince'> {
  const online = isOnline({ subscriptions })
  const ends = subscriptions.map(({ disconnectedAt }) => disconnectedAt ?? 0)
  return { online, offlineSince: online || ends.length === 0 ? null : Math.max(...ends) }
}

/** The API has no reasons: only the log of the control plane that holds the stream. */
function withRejections(subscriptions: readonly Subscription[], { rejectedTypes, rejectedSince }: SubjectFacts): readonly Subscription[] {
  if (rejectedTypes.length === 0) return subscriptions
  return subscriptions.map((subscription) =>
    subscription.disconnectedAt !== undefined
      ? subscription
      : {
          ...subscription,
          types: Object.fromEntries(
            Object.entries(subscription.types).map(([type, status]) => [
              type,
              rejectedTypes.includes(type)
                ? {
                    ...status,
                    rejection: { reason: `Kuma's API tells no reason; the log of ${subscription.instance} does.`, since: rejectedSince },
                  }
                : status,
            ]),
          ),
        },
  )
}

export interface ZoneView {
  readonly link: string
  readonly readEveryMs: number
  readonly seen: SeenZone
  readonly facts: SubjectFacts
  readonly writtenAt: number | undefined
  readonly theirs: TheirSettings
}

export function zoneInsight({ link, readEveryMs, seen, facts, writtenAt, theirs }: ZoneView): ObservedInsight {
  const { subscriptions } = seen
  const { zoneFlush, zoneIdle } = theirs.intervals
  const lagMs = lagOf(subscriptions, writtenAt)
  const settings = [zoneFlushSetting(theirs, isWaitOf(zoneFlush, lagMs))]
  const notes = [
    ...(subscriptions.length > 0
      ? []
      : [
          seen.isConnecting
            ? `It connected a moment ago: its first status is written within ${zoneFlush.text}.`
            : 'It has never been connected.',
        ]),
    ...(seen.enabled === false ? ['It is disabled over there.'] : []),
    ...causeNote(settings, lagMs),
  ]
  return {
    key: { type: 'ZoneInsight', mesh: '', name: `${link}/${seen.name}` },
    subject: { type: 'Zone', mesh: '', name: seen.name },
    source: link,
    ...lifeOf(subscriptions),
    pendingSince: null,
    heartbeatAt: subscriptions.length === 0 ? 0 : facts.heartbeatAt,
    cadenceMs: zoneFlush.ms,
    heartbeatMs: heartbeatOf(zoneIdle, readEveryMs),
    version: UNKNOWN,
    writer: UNKNOWN,
    modifiedAt: writtenAt ?? 0,
    nacked: facts.rejectedTypes,
    subscriptions: withRejections(subscriptions, facts),
    settings,
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

function zoneFlushSetting(theirs: TheirSettings, isCause: boolean): RemoteSetting {
  const { zoneFlush } = theirs.intervals
  return toSetting(zoneFlush, {
    of: holderOf(theirs),
    isCause,
    effect: `What is known of a zone is written at most every ${zoneFlush.text}, and for the first time after that.`,
  })
}

function holderOf({ mode }: TheirSettings): string {
  return mode === 'global' ? 'the global' : 'this zone'
}

/** What decides how late a zone's own data planes, and the zone itself, are told of. */
export function cadencesOf({ name, settings }: SeenZone, theirs: TheirSettings): readonly RemoteSetting[] {
  const isGlobal = theirs.mode === 'global'
  const own = (isGlobal ? settings : theirs)?.intervals.dataplaneFlush
  return [
    ...(own === undefined ? [] : [toSetting(own, { of: ownerOf(name, isGlobal), isCause: false, effect: flushEffect(own, isGlobal) })]),
    zoneFlushSetting(theirs, false),
  ]
}

function flushEffect({ text }: KumaInterval, isGlobal: boolean): string {
  return `A change of its status waits up to ${text} for its next write${isGlobal ? ', and 2 to 3 s more to reach the global' : ''}.`
}

export interface MeshView {
  readonly link: string
  readonly seen: SeenMesh
  /** Since when its counts have been others than those of what is listed; null while they are the same. */
  readonly differsSince: number | null
  /** When we saw it written. */
  readonly movedAt: number
  readonly theirs: TheirSettings
}

/** It has no heartbeat: it is late when it counts other data planes than there are. */
export function meshInsight({ link, seen, differsSince, movedAt, theirs }: MeshView): ObservedInsight {
  const { meshResync } = theirs.intervals
  const of = holderOf(theirs)
  const isCause = differsSince !== null
  const settings = [
    toSetting(meshResync, { of, isCause, effect: `A change that its events missed is counted after ${meshResync.text} at the latest.` }),
  ]
  return {
    key: { type: 'MeshInsight', mesh: '', name: `${link}/${seen.name}` },
    subject: { type: 'Mesh', mesh: '', name: seen.name },
    source: link,
    online: true,
    offlineSince: null,
    pendingSince: differsSince,
    heartbeatAt: seen.counted === null ? 0 : movedAt,
    cadenceMs: meshResync.ms,
    heartbeatMs: 0,
    version: UNKNOWN,
    writer: UNKNOWN,
    modifiedAt: seen.modifiedAt,
    nacked: [],
    content: seen.content,
    settings,
    ...(isCause && {
      note: `It counts other data planes than are listed; ${meshResync.path} of ${of} is ${meshResync.text}: set ${meshResync.variable} there to change it.`,
    }),
  }
}

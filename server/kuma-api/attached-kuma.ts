import { type Clock, yieldToEventLoop } from '../lib/clock.ts'
import { clip } from '../lib/clip.ts'
import { textIn } from '../lib/json-fields.ts'
import type { Attention } from '../link/attention.ts'
import type { LinkAttempt, LinkSpec } from '../link/connector.ts'
import { isLinkFailure } from '../link/link-failure.ts'
import { isOnline } from '../model/insight.ts'
import type { LinkFactGroup } from '../model/link-row.ts'
import type { ObservedInsight, ObservedInsights } from '../model/observed-insight.ts'
import { type KeyString, toKeyString } from '../model/resource.ts'
import type { RemoteZoneRow } from '../model/remote-zone.ts'
import type { KumaConfig } from './kuma-config.ts'
import type { KumaClient } from './kuma-client.ts'
import {
  cadencesOf,
  dataplaneInsight,
  type KnownZone,
  meshInsight,
  nextSubjectFacts,
  type SubjectFacts,
  zoneInsight,
} from './kuma-insights.ts'
import { nextKumaMetrics, type KumaMetrics } from './kuma-metrics.ts'
import { readDataplane, readMesh, readWrittenAt, readZone, type SeenDataplane, type SeenMesh, type SeenZone } from './read-overview.ts'
import { type TheirSettings, toTheirSettings } from './their-settings.ts'

export interface AttachedKumaDeps {
  readonly clock: Clock
  readonly client: KumaClient
  readonly insights: ObservedInsights
  readonly attention: Attention
}

/** A running Kuma control plane, read and never written: a link that polls, insights beside our own, its zones as remote streams. */
export interface AttachedKuma {
  readonly link: LinkSpec
  /** While its link does not get through, how fresh its insights are cannot be told: they are `unknown`, not stale. */
  setBlind(isBlind: boolean): void
  /** By name. */
  zones(): readonly RemoteZoneRow[]
}

/** What is heavy (43 KB a zone, 2 KB a data plane) is read this seldom while nobody looks. */
const RELAXED_MS = 60_000
/** But a heartbeat moves twice in an idle timeout, and is to be seen in time. */
const READS_PER_IDLE_TIMEOUT = 4
/** Its configuration is read at its boot only, so now and then is enough. */
const CONFIG_EVERY_MS = 60_000
/** So many insights are made in one go; then the event loop has its turn. */
const INSIGHTS_AT_ONCE = 250
const BLIND = 'Its link does not get through, so how fresh it is cannot be told: this is what was seen last.'

/** What was heard when a list was read last: of all zones, or of the data planes of one mesh. */
interface Heard<Seen> {
  /** Monotonic ms. */
  readonly readAt: number
  readonly seen: readonly Seen[]
  /** By stored name, as `facts`. */
  readonly writtenAt: ReadonlyMap<string, number>
  readonly facts: ReadonlyMap<string, SubjectFacts>
}
const nothingHeard: Heard<never> = { readAt: -Infinity, seen: [], writtenAt: new Map(), facts: new Map() }

/** What is remembered of a mesh's insight, which has no heartbeat. Moments are ours, epoch ms. */
interface MeshFacts {
  /** As it says it was written, and when we saw that. */
  readonly modifiedAt: number
  readonly movedAt: number
  /** Since when it counts other data planes than are listed; null while the same. */
  readonly differsSince: number | null
}

export function createAttachedKuma({ clock, client, insights, attention }: AttachedKumaDeps, config: KumaConfig): AttachedKuma {
  const { id } = config
  let index: Readonly<Record<string, unknown>> = {}
  let theirs = toTheirSettings({})
  let configReadAt = -Infinity
  let zones: Heard<SeenZone> = nothingHeard
  let meshes: readonly SeenMesh[] = []
  const dataplanesOf = new Map<string, Heard<SeenDataplane>>()
  const meshFacts = new Map<string, MeshFacts>()
  const shown = new Map<KeyString, ObservedInsight>()
  let metrics: KumaMetrics | undefined
  let metricsProblem: string | undefined
  let blind = false

  /** Never more often than it writes what we read. */
  const everyMs = () => Math.max(config.intervalMs, Math.min(theirs.intervals.dataplaneFlush.ms, theirs.intervals.zoneFlush.ms))
  const relaxedMs = () => {
    const idleMs = Math.min(theirs.intervals.dataplaneIdle.ms, theirs.intervals.zoneIdle.ms)
    return Math.max(everyMs(), Math.min(RELAXED_MS, idleMs / READS_PER_IDLE_TIMEOUT))
  }

  async function connect(attempt: LinkAttempt): Promise<void> {
    const found = await client.read('/', attempt)
    attempt.syncing()
    attempt.relist('start')
    configReadAt = -Infinity
    zones = { ...zones, readAt: -Infinity }
    for (const [mesh, heard] of dataplanesOf) dataplanesOf.set(mesh, { ...heard, readAt: -Infinity })
    const release = await attempt.listTurn()
    try {
      await readAll(attempt, found)
    } finally {
      release()
    }
    attempt.live()
    for (;;) {
      await untilDue(attempt.signal)
      await readAll(attempt, await client.read('/', attempt))
    }
  }

  /** The next poll is due after the interval; who begins to look waits only until what is looked at may be read again. */
  async function untilDue(signal: AbortSignal): Promise<void> {
    const waiting = new AbortController()
    const wake = () => waiting.abort()
    signal.addEventListener('abort', wake, { once: true })
    attention.onLook((link) => {
      if (link === id && (areZonesDue() || meshes.some(({ name }) => areDataplanesDue(name)))) wake()
    }, waiting.signal)
    try {
      await clock.sleep(everyMs(), waiting.signal)
    } catch {
      signal.throwIfAborted()
    } finally {
      signal.removeEventListener('abort', wake)
      waiting.abort()
    }
  }

  /** On a global its zones tell how fresh its data planes are, so they are read for both. */
  function areZonesDue(): boolean {
    return clock.monotonic() - zones.readAt >= (attention.isLookedAt(id) ? everyMs() : relaxedMs())
  }

  /** While a mesh's insight counts others than are listed, that is looked into. */
  function areDataplanesDue(mesh: string): boolean {
    const isDoubtful = meshFacts.get(mesh)?.differsSince != null
    const readAt = dataplanesOf.get(mesh)?.readAt ?? -Infinity
    return clock.monotonic() - readAt >= (isDoubtful || attention.isLookedAt(id, mesh) ? everyMs() : relaxedMs())
  }

  async function readAll(attempt: LinkAttempt, found: Readonly<Record<string, unknown>>): Promise<void> {
    const isOther = textIn(found, 'instanceId') !== textIn(index, 'instanceId')
    index = found
    if (isOther || clock.monotonic() - configReadAt >= CONFIG_EVERY_MS) {
      theirs = await readSettings(attempt)
      configReadAt = clock.monotonic()
    }
    meshes = await readMeshes(attempt)
    if (areZonesDue()) zones = await readZones(attempt)
    for (const { name } of meshes) if (areDataplanesDue(name)) await readDataplanes(attempt, name)
    forgetMeshes()
    await readMetrics(attempt)
    await show(attempt)
  }

  /** Who may not read it goes on with Kuma's defaults, and says so. */
  async function readSettings(attempt: LinkAttempt): Promise<TheirSettings> {
    try {
      return toTheirSettings(await client.read('/config', attempt))
    } catch (error) {
      if (!isLinkFailure(error) || (error.class !== 'forbidden' && error.class !== 'not_found')) throw error
      attempt.bad(`/config: ${error.message}; Kuma's defaults are assumed`)
      return toTheirSettings({})
    }
  }

  /** Of those without an insight (all, on a federated zone) only the name is known. */
  async function readMeshes(attempt: LinkAttempt): Promise<readonly SeenMesh[]> {
    const insightOf = new Map<string, SeenMesh>()
    if (!theirs.isFederated)
      for (const item of (await client.list('/mesh-insights', attempt)) ?? []) {
        const mesh = readMesh(item)
        if (mesh === undefined) attempt.bad(`a mesh's insight without a name: ${shortly(item)}`)
        else insightOf.set(mesh.name, mesh)
      }
    const found = ((await client.list('/meshes', attempt)) ?? []).flatMap((item) => {
      const name = textIn(item, 'name')
      if (name !== undefined) return [insightOf.get(name) ?? { name, modifiedAt: 0, counted: null, content: {} }]
      attempt.bad(`a mesh without a name: ${shortly(item)}`)
      return []
    })
    const now = clock.now()
    for (const { name, modifiedAt } of found) {
      const before = meshFacts.get(name)
      if (before?.modifiedAt !== modifiedAt) meshFacts.set(name, { modifiedAt, movedAt: now, differsSince: before?.differsSince ?? null })
    }
    return found
  }

  async function readZones(attempt: LinkAttempt): Promise<Heard<SeenZone>> {
    const readAt = clock.monotonic()
    const seen: SeenZone[] = []
    for (const item of (await client.list('/zones/_overview', attempt)) ?? []) {
      const zone = readZone(item)
      if (zone === undefined) attempt.bad(`a zone without a name: ${shortly(item)}`)
      else seen.push(zone)
    }
    const writtenAt = isWorthAsking(zones, attention.isLookedAt(id)) ? await readWrites('/zone-insights', attempt) : zones.writtenAt
    return { readAt, seen, writtenAt, facts: factsOf(seen, ({ name }) => name, zones.facts) }
  }

  async function readDataplanes(attempt: LinkAttempt, mesh: string): Promise<void> {
    const before = dataplanesOf.get(mesh) ?? nothingHeard
    const path = `/meshes/${encodeURIComponent(mesh)}`
    const readAt = clock.monotonic()
    const seen: SeenDataplane[] = []
    // Undefined: the mesh has gone since it was listed.
    for (const item of (await client.list(`${path}/dataplanes/_overview`, attempt)) ?? []) {
      const dataplane = readDataplane(item)
      if (dataplane === undefined) attempt.bad(`a data plane without a name or mesh: ${shortly(item)}`)
      else seen.push(dataplane)
    }
    const isLookedAt = attention.isLookedAt(id, mesh)
    const writtenAt = isWorthAsking(before, isLookedAt) ? await readWrites(`${path}/dataplane-insights`, attempt) : before.writtenAt
    dataplanesOf.set(mesh, { readAt, seen, writtenAt, facts: factsOf(seen, ({ storedName }) => storedName, before.facts) })
    compareCounts(mesh, seen)
  }

  /** Only what was read in the same poll is compared. */
  function compareCounts(mesh: string, seen: readonly SeenDataplane[]): void {
    const facts = meshFacts.get(mesh)
    const counted = meshes.find(({ name }) => name === mesh)?.counted
    if (facts === undefined) return
    const online = seen.filter((dataplane) => isOnline(dataplane)).length
    const isSame = counted == null || (counted.total === seen.length && counted.online === online)
    meshFacts.set(mesh, { ...facts, differsSince: isSame ? null : (facts.differsSince ?? clock.now()) })
  }

  /** When insights were written there is another list, as long: for who looks. */
  function isWorthAsking({ readAt, writtenAt }: Heard<unknown>, isLookedAt: boolean): boolean {
    return isLookedAt || readAt === -Infinity || writtenAt.size === 0
  }

  async function readWrites(path: string, attempt: LinkAttempt): Promise<ReadonlyMap<string, number>> {
    return new Map(
      ((await client.list(path, attempt)) ?? []).flatMap((item) => {
        const write = readWrittenAt(item)
        return write === undefined ? [] : [write]
      }),
    )
  }

  function factsOf<Seen extends SeenZone | SeenDataplane>(
    seen: readonly Seen[],
    nameOf: (each: Seen) => string,
    before: ReadonlyMap<string, SubjectFacts>,
  ): ReadonlyMap<string, SubjectFacts> {
    const now = clock.now()
    return new Map(seen.map((each) => [nameOf(each), nextSubjectFacts(each.subscriptions, before.get(nameOf(each)), now)]))
  }

  function forgetMeshes(): void {
    const names = new Set(meshes.map(({ name }) => name))
    for (const known of [dataplanesOf, meshFacts]) for (const name of known.keys()) if (!names.has(name)) known.delete(name)
  }

  async function readMetrics(attempt: LinkAttempt): Promise<void> {
    if (config.metricsUrl === undefined) return
    try {
      const text = await client.metrics(config.metricsUrl, attempt)
      metrics = nextKumaMetrics(text, metrics, clock.monotonic())
      metricsProblem = undefined
    } catch (error) {
      attempt.signal.throwIfAborted()
      // The API is what the link is about; its metrics are besides.
      metricsProblem = isLinkFailure(error) ? error.message : String(error)
    }
  }

  /** Tells what changed, a few at a time; what was not told when the attempt ends is told by the next. */
  async function show(attempt: LinkAttempt): Promise<void> {
    const present = new Set<KeyString>()
    let made = 0
    for (const insight of insightsNow()) {
      const key = toKeyString(insight.key)
      present.add(key)
      const before = shown.get(key)
      if (JSON.stringify(before) !== JSON.stringify(insight)) {
        shown.set(key, insight)
        insights.set(blind ? toBlind(insight) : insight)
        attempt.event(before === undefined ? 'added' : 'modified')
      }
      if (++made % INSIGHTS_AT_ONCE > 0) continue
      await yieldToEventLoop()
      attempt.signal.throwIfAborted()
    }
    for (const [key, { key: gone }] of shown) {
      if (present.has(key)) continue
      shown.delete(key)
      insights.remove(gone)
      attempt.event('deleted')
    }
    attempt.objects(shown.size)
    attempt.bookmark()
  }

  function* insightsNow(): Generator<ObservedInsight> {
    const known = new Map(zones.seen.map((seen) => [seen.name, knownZone(seen)]))
    const about = { link: id, theirs, readEveryMs: relaxedMs() }
    for (const zone of known.values())
      if (zone.seen.hasInsight || theirs.mode === 'global')
        yield zoneInsight({ ...about, ...zone, writtenAt: zones.writtenAt.get(zone.seen.name) })
    for (const { seen: dataplanes, facts, writtenAt } of dataplanesOf.values())
      for (const seen of dataplanes) {
        const own = facts.get(seen.storedName)
        if (own === undefined) continue
        const zone = seen.zone === undefined ? undefined : known.get(seen.zone)
        yield dataplaneInsight({ ...about, seen, facts: own, writtenAt: writtenAt.get(seen.storedName), zone })
      }
    for (const seen of meshes) {
      const facts = meshFacts.get(seen.name)
      if (seen.counted !== null && facts !== undefined) yield meshInsight({ link: id, seen, theirs, ...facts })
    }
  }

  function knownZone(seen: SeenZone): KnownZone {
    return { seen, facts: zones.facts.get(seen.name) ?? nextSubjectFacts(seen.subscriptions, undefined, clock.now()) }
  }

  function linkFacts(): readonly LinkFactGroup[] {
    const said = (field: string) => textIn(index, field) || 'unknown'
    if (Object.keys(index).length === 0) return []
    return [
      {
        title: 'The control plane',
        facts: [
          { label: 'runs', value: `${said('product')} ${said('version')}` },
          {
            label: 'mode',
            value: `${theirs.mode ?? 'unknown'}${theirs.mode === 'zone' && !theirs.isFederated ? ', without a global' : ''}`,
          },
          { label: 'instance', value: said('instanceId') },
          { label: 'cluster', value: said('clusterId') },
          {
            label: 'asked',
            value: `every ${everyMs() / 1000} s; data planes and zones every ${relaxedMs() / 1000} s while nobody looks`,
          },
        ],
      },
      {
        title: 'Its intervals, read at its boot',
        facts: Object.values(theirs.intervals).map(({ path, text, variable, isAssumed }) => ({
          label: path,
          value: `${text}${isAssumed ? ' (its default: it does not say)' : ''}, by ${variable}; Helm: controlPlane.envVars.${variable}`,
        })),
      },
      ...(metricsProblem === undefined ? [] : [{ title: 'Its metrics', facts: [{ label: 'not read', value: metricsProblem }] }]),
      ...(metrics === undefined || metricsProblem !== undefined ? [] : [{ title: 'Its metrics', facts: metrics.facts }]),
    ]
  }

  function toRemoteZone(seen: SeenZone, dataplanes: readonly SeenDataplane[]): RemoteZoneRow {
    const { name, enabled, subscriptions } = seen
    const online = isOnline(seen)
    const last = subscriptions.at(-1)
    return {
      source: id,
      name,
      enabled,
      online,
      connectedAt: last?.connectedAt ?? null,
      offlineSince: online || last === undefined ? null : Math.max(...subscriptions.map(({ disconnectedAt }) => disconnectedAt ?? 0)),
      agent: last?.agent ?? null,
      subscriptions,
      dataplanes: { total: dataplanes.length, online: dataplanes.filter((dataplane) => isOnline(dataplane)).length },
      settings: cadencesOf(seen, theirs),
    }
  }

  return {
    link: {
      id,
      kind: 'poll',
      endpoint: config.url,
      subject: `Kuma control plane, read-only · every ${config.intervalMs / 1000} s`,
      connector: { connect },
      facts: linkFacts,
    },
    setBlind(isBlind) {
      if (isBlind === blind) return
      blind = isBlind
      for (const insight of shown.values()) insights.set(blind ? toBlind(insight) : insight)
    },
    zones() {
      attention.touch(id, '')
      const all = [...dataplanesOf.values()].flatMap(({ seen }) => seen)
      // A zone lists its own only, in older versions without a label that says so.
      const byZone = theirs.mode === 'global' ? Map.groupBy(all, ({ zone }) => zone) : undefined
      return zones.seen.map((seen) => toRemoteZone(seen, byZone === undefined ? all : (byZone.get(seen.name) ?? [])))
    },
  }
}

function shortly(item: unknown): string {
  return clip(JSON.stringify(item) ?? '', 100)
}

function toBlind(insight: ObservedInsight): ObservedInsight {
  return { ...insight, heartbeatAt: 0, note: BLIND }
}

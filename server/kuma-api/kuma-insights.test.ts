import { describe, expect, it } from 'vitest'
import { freshnessAt } from '../model/freshness.ts'
import { dataplaneInsight, nextSubjectFacts, zoneInsight } from './kuma-insights.ts'
import { readDataplane, readZone, type SeenDataplane } from './read-overview.ts'
import { toTheirSettings } from './their-settings.ts'
import { type Recording, recorded } from './testing/recorded-kuma.ts'

const NOW = Date.UTC(2026, 11, 1, 12)
const OVERVIEW = '/meshes/default/dataplanes/_overview'

function dataplanesOf(recording: Recording): ReadonlyMap<string, SeenDataplane> {
  const items = recorded(recording)[OVERVIEW] as readonly unknown[]
  return new Map(items.flatMap((item) => readDataplane(item) ?? []).map((seen) => [seen.name, seen]))
}

function judge(recording: Recording, name: string, { writtenAt, isZoneAway = false }: { writtenAt?: number; isZoneAway?: boolean } = {}) {
  const answers = recorded(recording)
  const seen = dataplanesOf(recording).get(name)
  if (seen === undefined) throw new Error(`no ${name} in ${recording}`)
  const found = (answers['/zones/_overview'] as readonly unknown[]).flatMap((item) => readZone(item) ?? [])[0]
  const zone = found && {
    ...found,
    subscriptions: found.subscriptions.map((each) => (isZoneAway ? { ...each, disconnectedAt: NOW } : each)),
  }
  const theirs = toTheirSettings(answers['/config'])
  const insight = dataplaneInsight({
    link: 'kuma',
    readEveryMs: 60_000,
    seen,
    facts: nextSubjectFacts(seen.subscriptions, undefined, NOW),
    ...(writtenAt !== undefined && { writtenAt }),
    theirs,
    zone:
      theirs.mode !== 'global' || zone === undefined
        ? undefined
        : {
            seen: zone,
            facts: nextSubjectFacts(zone.subscriptions, undefined, NOW),
          },
  })
  return { insight, freshness: freshnessAt(insight, NOW) }
}

describe('a data plane of an attached control plane', () => {
  it.each([
    ['v2.14-zone', 'online-dp', 'fresh'],
    ['v2.14-zone', 'gone-dp', 'offline'],
    ['v2.14-zone', 'never-dp', 'unknown'],
    ['v3-zone', 'gone-dp', 'offline'],
    ['v3-zone', 'rejecting-dp', 'fresh'],
    ['v2.14-global', 'online-dp', 'fresh'],
  ] as const)('of %s, %s is %s', (recording, name, expected) => {
    expect(judge(recording, name).freshness).toBe(expected)
  })

  it('is known on a global by its zone and the name it has there, and judged by the interval of that zone and the way', () => {
    const { insight } = judge('v2.14-global', 'online-dp')
    expect(insight).toMatchObject({
      key: { name: 'kuma/zone-1/online-dp' },
      subject: { name: 'online-dp' },
      cadenceMs: 13_000,
      heartbeatMs: 150_000,
      version: 'unknown',
      writer: 'unknown',
    })
    expect(insight.note).toContain('no heartbeat of a data plane travels to a global')
  })

  it('is neither online nor offline for sure while its zone is away', () => {
    const { insight, freshness } = judge('v3-global', 'rejecting-dp', { isZoneAway: true })
    expect(freshness).toBe('unknown')
    expect(insight.note).toContain('Its zone zone-1 is not connected to the global')
  })

  it.each(['v3-zone', 'v2.14-zone', 'v2.14-global'] as const)('that never took a type rejects it now, in %s', (recording) => {
    const { insight } = judge(recording, 'rejecting-dp')
    expect(insight.nacked).toEqual(['CDS'])
    expect(insight.subscriptions?.at(-1)?.types['CDS']?.rejection?.reason).toContain('the log of')
  })

  it('rejects while refusals grow and until it takes the type again; what stands beside later ACKs when we come is history', () => {
    const at = (sent: number, acked: number, nacked: number) => [
      { id: 's', instance: 'i', connectedAt: 1, generation: 0, types: { CDS: { sent, acked, nacked, lastAt: sent } } },
    ]
    const first = nextSubjectFacts(at(3, 1, 2), undefined, 1)
    const grown = nextSubjectFacts(at(4, 1, 3), first, 2)
    const same = nextSubjectFacts(at(4, 1, 3), grown, 3)
    const taken = nextSubjectFacts(at(5, 2, 3), same, 4)
    expect([first, grown, same, taken].map(({ rejectedTypes }) => rejectedTypes)).toEqual([[], ['CDS'], ['CDS'], []])
  })

  it('whose write waited for an interval of theirs names it, with the variable and the Helm value', () => {
    const changedAt = dataplanesOf('v2.14-zone').get('online-dp')?.subscriptions.at(-1)?.types['CDS']?.lastAt ?? 0
    const { insight } = judge('v2.14-zone', 'online-dp', { writtenAt: changedAt + 9_500 })
    expect(insight.settings?.[0]).toMatchObject({ isCause: true, value: '10s', path: 'xdsServer.dataplaneStatusFlushInterval' })
    expect(insight.note).toContain('KUMA_XDS_SERVER_DATAPLANE_STATUS_FLUSH_INTERVAL')
    expect(insight.settings?.[0]?.helm).toBe('controlPlane.envVars.KUMA_XDS_SERVER_DATAPLANE_STATUS_FLUSH_INTERVAL')
    expect(judge('v2.14-zone', 'online-dp', { writtenAt: changedAt + 400 }).insight.settings?.[0]?.isCause).toBe(false)
  })
})

describe('a zone of an attached global', () => {
  const answers = recorded('v2.14-global')
  const [zone] = (answers['/zones/_overview'] as readonly unknown[]).flatMap((item) => readZone(item) ?? [])
  const changedAt = Math.max(...Object.values(zone!.subscriptions.at(-1)!.types).map(({ lastAt }) => lastAt))
  const theirs = toTheirSettings(answers['/config'])
  const written = (writtenAt: number | undefined) =>
    zoneInsight({
      link: 'kuma',
      readEveryMs: 60_000,
      seen: zone!,
      facts: nextSubjectFacts(zone!.subscriptions, undefined, NOW),
      writtenAt,
      theirs,
    })

  it.each([
    ['the flush interval after its last change waited for that', 9_800, true],
    ['at once was in time', 1_200, false],
    ['long after its last change was a heartbeat, which tells nothing of it', 140_000, false],
  ])('that was written %s', (_, afterMs, isCause) => {
    const { settings, note } = written(changedAt + afterMs)
    expect(settings).toMatchObject([{ of: 'the global', path: 'multizone.global.kds.zoneInsightFlushInterval', isCause }])
    expect(note?.includes('KUMA_MULTIZONE_GLOBAL_KDS_ZONE_INSIGHT_FLUSH_INTERVAL') ?? false).toBe(isCause)
  })
})

describe('what other versions answer', () => {
  it('is read without what 2.9 lacks: then the stored name is the name, and counters that are absent are 0', () => {
    const seen = readDataplane({
      mesh: 'default',
      name: 'web-1',
      dataplaneInsight: { subscriptions: [{ id: 'a', connectTime: '2026-12-01T10:00:00Z', status: { cds: { responsesSent: '1' } } }] },
    })
    expect(seen).toMatchObject({ name: 'web-1', zone: undefined })
    expect(seen?.subscriptions[0]).toMatchObject({ instance: 'unknown', types: { CDS: { sent: 1, acked: 0, nacked: 0 } } })
  })

  it.each([
    ['5m0s', 300_000, false],
    ['1.5s', 1_500, false],
    ['never', 10_000, true],
    [undefined, 10_000, true],
  ])('takes an interval of %s as %d ms', (text, ms, isAssumed) => {
    expect(toTheirSettings({ xdsServer: { dataplaneStatusFlushInterval: text } }).intervals.dataplaneFlush).toMatchObject({ ms, isAssumed })
  })
})

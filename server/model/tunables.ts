/** Every tunable: one schema, read by the settings store, the API, the CLI and the docs. Pure data. */
import type { SettingRow, SettingValue } from './views.ts'

export interface TunableSpec {
  readonly default: SettingValue
  readonly unit: SettingRow['unit']
  readonly range: { readonly min: number; readonly max: number } | null
  /** A word that is accepted beside numbers. */
  readonly word?: string
  /** Numbers need not be whole. */
  readonly fractional?: true
  /** A link may have its own: `link.<id>.<last part of the key>`. */
  readonly perLink?: true
  readonly description: string
}

const ms = (value: number, [min, max]: readonly [min: number, max: number], description: string): TunableSpec => ({
  default: value,
  unit: 'ms',
  range: { min, max },
  description,
})

const perLink = { perLink: true } as const

export const tunables = {
  'sink.dataplane.flushIntervalMs': ms(10_000, [100, 600_000], 'How often at most the status of one data plane is written to the store.'),
  'sink.dataplane.flushBackoffMs': {
    default: 'auto',
    unit: 'ms',
    range: { min: 0, max: 600_000 },
    word: 'auto',
    description:
      'Pause between two writes of one data plane, whatever the first took; "auto" is a tenth of the interval. At most the interval.',
  },
  'sink.zone.flushIntervalMs': ms(10_000, [100, 600_000], 'How often at most the status of one zone is written to the store.'),
  'sink.zone.flushBackoffMs': {
    default: 'auto',
    unit: 'ms',
    range: { min: 0, max: 600_000 },
    word: 'auto',
    description: 'Pause between two writes of one zone, whatever the first took; "auto" is a tenth of the interval. At most the interval.',
  },
  'sink.instance.flushIntervalMs': ms(5_000, [100, 600_000], 'How often at most the status of this instance is written to the store.'),
  'sink.mesh.minResyncMs': ms(
    1_000,
    [100, 600_000],
    'How often at most the status of a mesh is computed anew when something in it changes.',
  ),
  'sink.mesh.fullResyncMs': ms(
    20_000,
    [100, 3_600_000],
    'How often the status of every mesh is computed anew, changed or not. At least the shortest time between two.',
  ),
  'kds.flushIntervalMs': ms(
    1_000,
    [20, 600_000],
    'How often at most changes are sent to a zone when there are many; the first goes at once.',
  ),
  'kds.fullResyncMs': ms(60_000, [1_000, 3_600_000], 'How often all that a zone should have is compared with what it has acknowledged.'),
  'kds.nackBackoffMs': ms(
    5_000,
    [50, 600_000],
    'How long refused, unchanged content waits before a zone is sent it again; doubled each time, up to a minute. Changed content goes at once.',
  ),
  'insight.idleTimeoutMs': ms(
    300_000,
    [2_000, 3_600_000],
    'An open subscription whose generation has not moved for this long is closed; the generation moves every half of it.',
  ),
  'upsert.baseBackoffMs': ms(200, [0, 60_000], 'Wait before the first retry of a conflicting write. 0 = no retry.'),
  'upsert.maxBackoffMs': ms(2_000, [1, 600_000], 'No wait between retries of a write is longer. At least the base.'),
  'upsert.maxTimes': {
    default: 10,
    unit: 'count',
    range: { min: 0, max: 100 },
    description: 'Retries after the first attempt of a conflicting write. 0 = no retry.',
  },
  'upsert.jitterPercent': {
    default: 30,
    unit: 'percent',
    range: { min: 0, max: 100 },
    description: 'How much each wait between retries is spread, so that two writers do not stay in step.',
  },
  'cache.ttlMs': ms(1_000, [0, 600_000], 'How long a read may be served from the cache without asking the store.'),
  'xds.refreshIntervalMs': ms(
    1_000,
    [100, 600_000],
    'How often at most a data plane is given a new configuration when many Dataplanes change; the first is at once.',
  ),
  'xds.nackBackoffMs': ms(
    5_000,
    [0, 600_000],
    'How long a rejected, unchanged configuration is held back before it is sent again. A changed one goes at once.',
  ),
  'xds.deregistrationDelayMs': ms(
    10_000,
    [0, 3_600_000],
    'How long after its stream ended a data plane that registered itself is removed, unless it is back by then.',
  ),
  'identity.certificateTtlMs': ms(
    86_400_000,
    [2_000, 31_536_000_000],
    'How long a certificate of a data plane is valid, in meshes with mTLS; it is renewed after 70 to 90 % of it.',
  ),
  'link.baseBackoffMs': { ...ms(800, [50, 600_000], 'Wait of a link before its first retry. At most the longest wait.'), ...perLink },
  'link.factor': {
    default: 2,
    unit: 'none',
    range: { min: 1, max: 10 },
    fractional: true,
    description: 'What each further wait of a link is multiplied by.',
    ...perLink,
  },
  'link.maxBackoffMs': { ...ms(30_000, [50, 3_600_000], 'No wait of a link is longer, unless its peer asks for it.'), ...perLink },
  'link.jitter': {
    default: true,
    unit: 'none',
    range: null,
    description: 'Whether waits are spread by a fifth either way, so that links which failed together do not stay in step.',
    ...perLink,
  },
  'link.resetAfterMs': {
    ...ms(120_000, [0, 3_600_000], 'How long a link must have been live before its next failure counts as the first again.'),
    ...perLink,
  },
  'link.unhealthyAfterMs': {
    ...ms(45_000, [100, 86_400_000], 'How long a link may be without success before it is unhealthy. Above the longest wait.'),
    ...perLink,
  },
  'link.probeBaseMs': ms(500, [50, 600_000], 'Wait before the first probe of an endpoint that is down, by one of its links for all.'),
  'link.probeFactor': {
    default: 1.6,
    unit: 'none',
    range: { min: 1, max: 10 },
    fractional: true,
    description: 'What each further wait between probes is multiplied by.',
  },
  'link.probeMaxMs': ms(5_000, [50, 3_600_000], 'No wait between probes is longer.'),
  'link.rampPerSecond': {
    default: 100,
    unit: 'count',
    range: { min: 1, max: 1_000 },
    description: 'How many links a second resume when their endpoint is back.',
  },
  'watch.serverTimeoutMs': {
    ...ms(290_000, [1_000, 3_600_000], 'How long a watch asks its server to keep it open; then it is made again, without a gap.'),
    ...perLink,
  },
  'watch.idleTimeoutMs': {
    ...ms(
      295_000,
      [1_100, 3_700_000],
      'A watch that is silent for longer is taken for half-open and made again. Above the server timeout.',
    ),
    ...perLink,
  },
} as const satisfies Record<string, TunableSpec>

export type TunableKey = keyof typeof tunables
export type TunableValue<K extends TunableKey> = (typeof tunables)[K] extends { word: string }
  ? number | string
  : (typeof tunables)[K]['default'] extends boolean
    ? boolean
    : number

/** Those a link may have its own of. */
export type LinkTunableKey = { [K in TunableKey]: (typeof tunables)[K] extends { perLink: true } ? K : never }[TunableKey]
/** A link's own: `link.<id>.<last part of the key>`. */
export type LinkOverrideKey = `link.${string}.${string}`
export type SettingKey = TunableKey | LinkOverrideKey

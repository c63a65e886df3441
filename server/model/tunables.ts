/** Every tunable: one schema, read by the settings store, the API, the CLI and the docs. Pure data. */
import type { SettingRow, SettingValue } from './views.ts'

export interface TunableSpec {
  readonly default: SettingValue
  readonly unit: SettingRow['unit']
  readonly range: { readonly min: number; readonly max: number } | null
  /** A word that is accepted beside numbers. */
  readonly word?: string
  readonly description: string
}

const ms = (value: number, [min, max]: readonly [min: number, max: number], description: string): TunableSpec => ({
  default: value,
  unit: 'ms',
  range: { min, max },
  description,
})

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
} as const satisfies Record<string, TunableSpec>

export type TunableKey = keyof typeof tunables
export type TunableValue<K extends TunableKey> = (typeof tunables)[K] extends { word: string } ? number | string : number

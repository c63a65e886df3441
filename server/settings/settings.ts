import type { Tunable } from '../lib/tunable.ts'
import type { TunableKey, TunableValue } from '../model/tunables.ts'
import type { ChangeRow, SettingRow, SettingValue } from '../model/views.ts'

/** The tunables of this installation: kept in the store as versioned resources, followed live through its change feed. */
export interface Settings {
  tunable<K extends TunableKey>(key: K): Tunable<TunableValue<K>>
  list(): readonly SettingRow[]
  get(key: string): SettingRow
  /**
   * Changes one tunable under the lock of the version the caller saw. Throws `not_found` (no such tunable, naming near ones),
   * `invalid` with details.range (out of range, wrong type, or at odds with another tunable), `conflict` with
   * details { changedBy, changedAt, value, version } when somebody changed it since.
   */
  apply(change: SettingChange): Promise<{ readonly changeId: string; readonly setting: SettingRow }>
  /** Newest first. */
  history(options?: { readonly key?: string; readonly limit?: number }): readonly ChangeRow[]
  /** From the parts a change reaches: it is in force for all of them now. Kept with the change. */
  recordEffect(key: TunableKey, version: string, effect: { readonly afterMs: number; readonly sessions: number }): void
  onChange(listener: (row: SettingRow) => void, signal: AbortSignal): void
  /** Reads the stored values and applies `first` values to what nobody changed yet. Call before anything reads a tunable. */
  load(first?: Readonly<Record<string, SettingValue>>): Promise<void>
  /** Follows changes made elsewhere until aborted. */
  run(signal: AbortSignal): Promise<void>
}

export interface SettingChange {
  readonly key: string
  readonly value: SettingValue
  readonly expectedVersion: string
  readonly by: string
  readonly reason?: string | undefined
}

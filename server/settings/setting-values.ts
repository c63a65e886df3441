import { CoreError } from '../lib/errors.ts'
import { createTopic, type Topic } from '../lib/topic.ts'
import { createTunable, type MutableTunable } from '../lib/tunable.ts'
import type { Setting } from '../model/kinds/setting.ts'
import type { Resource } from '../model/resource.ts'
import { type SettingKey, type TunableKey, tunables } from '../model/tunables.ts'
import type { SettingRow, SettingValue } from '../model/views.ts'
import { specOf, toOverride } from './setting-keys.ts'
import { type PresentSettings, problemOf } from './setting-rules.ts'

/** What is in force, in memory: of every tunable, and of what links have of their own. */
export interface SettingValues {
  tunable(key: SettingKey): MutableTunable<SettingValue>
  value(key: SettingKey): SettingValue
  row(key: SettingKey): SettingRow
  /** As it is stored; undefined while nobody changed it. */
  stored(key: SettingKey): Resource<Setting> | undefined
  /** Known so far: every tunable, and the others that anybody set or asked for. */
  keys(): readonly SettingKey[]
  /** Every tunable, and what these links have of their own. */
  shown(links: readonly string[]): readonly SettingRow[]
  /** What relations between settings are held against. */
  present(): PresentSettings
  /** Its value while nobody changed it. */
  setFirst(key: SettingKey, value: SettingValue): void
  /** First values of what nobody changed. */
  firstsInForce(): readonly (readonly [key: SettingKey, value: SettingValue])[]
  /** It is stored so. */
  take(key: SettingKey, resource: Resource<Setting>): void
  /** Nobody has changed it (any more). */
  drop(key: SettingKey): void
  readonly changed: Topic<SettingRow>
}

/** Of a setting that nobody changed. */
export const UNCHANGED_VERSION = '0'

/** `onError`: a stored value cannot be taken, so another is in force. */
export function createSettingValues(onError: (what: string, error: unknown) => void): SettingValues {
  const live = new Map<SettingKey, MutableTunable<SettingValue>>()
  const stored = new Map<SettingKey, Resource<Setting>>()
  /** From the configuration, for what nobody changed. */
  const firsts = new Map<SettingKey, SettingValue>()
  const changed = createTopic<SettingRow>()
  for (const key of Object.keys(tunables) as TunableKey[]) tunable(key)

  function tunable(key: SettingKey): MutableTunable<SettingValue> {
    return live.getOrInsertComputed(key, () => createTunable<SettingValue>(firstOf(key)))
  }

  function firstOf(key: SettingKey): SettingValue {
    return firsts.get(key) ?? specOf(key).default
  }

  function value(key: SettingKey): SettingValue {
    return live.get(key)?.get() ?? firstOf(key)
  }

  function row(key: SettingKey): SettingRow {
    const { default: initial, unit, range, description } = specOf(key)
    const resource = stored.get(key)
    return {
      key,
      value: value(key),
      default: initial,
      unit,
      range,
      version: resource?.version ?? UNCHANGED_VERSION,
      description,
      modifiedAt: resource?.spec.at ?? null,
      modifiedBy: resource?.spec.by ?? null,
    }
  }

  return {
    tunable,
    value,
    row,
    stored: (key) => stored.get(key),
    keys: () => [...live.keys()],
    shown(links) {
      const known = new Set(links)
      const isShown = (key: SettingKey) => {
        const override = toOverride(key)
        return override === undefined || (known.has(override.link) && (stored.has(key) || firsts.has(key)))
      }
      return [...live.keys()].filter(isShown).map(row)
    },
    present() {
      const overriding = new Set<string>()
      for (const key of [...stored.keys(), ...firsts.keys()]) {
        const override = toOverride(key)
        if (override !== undefined) overriding.add(override.link)
      }
      return { valueOf: value, overriding: [...overriding] }
    },
    setFirst: (key, first) => void firsts.set(key, first),
    firstsInForce: () => [...firsts].filter(([key]) => !stored.has(key)),
    take(key, resource) {
      if (stored.get(key)?.version === resource.version) return
      stored.set(key, resource)
      const problem = problemOf(key, resource.spec.value)
      tunable(key).set(problem === undefined ? resource.spec.value : firstOf(key))
      changed.publish(row(key))
      // Written by a version that allowed it.
      if (problem !== undefined) onError(`take a stored setting, so ${key} is ${String(value(key))}`, new CoreError('invalid', problem))
    },
    drop(key) {
      const first = firstOf(key)
      const wasStored = stored.delete(key)
      if (!wasStored && value(key) === first) return
      tunable(key).set(first)
      changed.publish(row(key))
    },
    changed,
  }
}

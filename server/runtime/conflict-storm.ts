import type { TunableKey } from '../model/tunables.ts'
import type { SettingValue } from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'

/** What makes the sink and the certificates meet on the same insights all the time; through the settings, as an operator would do it. */
const STORM: readonly (readonly [TunableKey, SettingValue])[] = [
  ['sink.dataplane.flushIntervalMs', 200],
  ['identity.certificateTtlMs', 2_000],
]
const BY = 'demo'

interface Blown {
  readonly key: TunableKey
  readonly before: SettingValue
  /** Of what the storm set. */
  readonly version: string
}

/** Sets what makes two writers fight over every insight; switched off, puts back what nobody else has set since. */
export function createConflictStorm(settings: Pick<Settings, 'get' | 'apply'>): (active: boolean) => Promise<void> {
  let blown: readonly Blown[] = []

  return async (active) => {
    if (active === blown.length > 0) return
    if (active) {
      for (const [key, value] of STORM) blown = [...blown, await blow(key, value)]
      return
    }
    const restored = blown
    blown = []
    for (const { key, before, version } of restored) {
      if (settings.get(key).version !== version) continue
      await settings.apply({ key, value: before, expectedVersion: version, by: BY, reason: 'conflict storm switched off' })
    }
  }

  async function blow(key: TunableKey, value: SettingValue): Promise<Blown> {
    const { value: before, version } = settings.get(key)
    const { setting } = await settings.apply({ key, value, expectedVersion: version, by: BY, reason: 'conflict storm switched on' })
    return { key, before, version: setting.version }
  }
}

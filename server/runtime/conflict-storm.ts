import type { TunableKey } from '../model/tunables.ts'
import type { SettingValue } from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'

/** What makes the sink and the certificates meet on the same insights all the time; through the settings, as an operator would do it. */
const STORM: readonly (readonly [TunableKey, SettingValue])[] = [
  ['sink.dataplane.flushIntervalMs', 200],
  ['identity.certificateTtlMs', 2_000],
]
const BY = 'demo'

/** Sets what makes two writers fight over every insight; switched off, puts back what was set before. */
export function createConflictStorm(settings: Pick<Settings, 'get' | 'apply'>): (active: boolean) => Promise<void> {
  let before: readonly (readonly [TunableKey, SettingValue])[] | undefined

  return async (active) => {
    if (active === (before !== undefined)) return
    if (active) {
      before = STORM.map(([key]) => [key, settings.get(key).value])
      return applyAll(STORM, 'conflict storm switched on')
    }
    const values = before ?? []
    before = undefined
    await applyAll(values, 'conflict storm switched off')
  }

  async function applyAll(values: readonly (readonly [TunableKey, SettingValue])[], reason: string) {
    for (const [key, value] of values) {
      const { version, value: present } = settings.get(key)
      if (present !== value) await settings.apply({ key, value, expectedVersion: version, by: BY, reason })
    }
  }
}

import type { SettingChangeRecord } from '../model/kinds/setting-change.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import type { SettingKey } from '../model/tunables.ts'

/** The changes of all tunables that are kept, in memory: a copy of what the store has. */
export interface ChangeHistory {
  /** One that was stored, by whoever. */
  take(resource: Resource<SettingChangeRecord>): void
  forget(changeId: string): void
  /** Exactly these from now on. */
  replaceAll(resources: readonly Resource<SettingChangeRecord>[]): void
  get(changeId: string): Resource<SettingChangeRecord> | undefined
  /** Newest first. */
  list(options: { readonly key: SettingKey | undefined; readonly limit: number }): readonly Resource<SettingChangeRecord>[]
  /** The place of the next change: above all that are known. */
  nextSequence(): number
  /** The oldest beyond what is kept. */
  tooOld(): readonly ResourceKey[]
}

/** Changes kept in all. */
export const CHANGES_KEPT = 500

export function createChangeHistory(): ChangeHistory {
  const changes = new Map<string, Resource<SettingChangeRecord>>()

  return {
    take(resource) {
      const { name } = resource.key
      // The feed may bring an older one than we wrote ourselves: what came of a change is never taken back.
      if (changes.get(name)?.spec.effect == null) changes.set(name, resource)
    },
    forget: (changeId) => void changes.delete(changeId),
    replaceAll(resources) {
      changes.clear()
      for (const resource of resources) changes.set(resource.key.name, resource)
    },
    get: (changeId) => changes.get(changeId),
    list: ({ key, limit }) =>
      newestFirst()
        .filter(({ spec }) => key === undefined || spec.key === key)
        .slice(0, limit),
    nextSequence: () => 1 + changes.values().reduce((highest, { spec }) => Math.max(highest, spec.sequence), 0),
    tooOld: () =>
      newestFirst()
        .slice(CHANGES_KEPT)
        .map(({ key }) => key),
  }

  /** By place, not by time: the clock may have been set back between two changes. Two instances may take one place. */
  function newestFirst() {
    return [...changes.values()].sort((a, b) => b.spec.sequence - a.spec.sequence || b.spec.at - a.spec.at)
  }
}

import type { Clock } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import type { NewId } from '../lib/random.ts'
import { createTopic } from '../lib/topic.ts'
import { createTunable, type MutableTunable, type Tunable } from '../lib/tunable.ts'
import type { Setting } from '../model/kinds/setting.ts'
import type { SettingChangeRecord } from '../model/kinds/setting-change.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import { type TunableKey, type TunableSpec, tunables, type TunableValue } from '../model/tunables.ts'
import type { ChangeRow, SettingRow, SettingValue } from '../model/views.ts'
import type { ResourceChange, ResourceStore, Write } from '../store/resource-store.ts'
import { checkRelations, checkValue, isTunableKey, toTunableKey } from './setting-rules.ts'

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

export interface SettingsDeps {
  readonly store: Pick<ResourceStore, 'list' | 'writeBatch' | 'update' | 'changes'>
  readonly clock: Pick<Clock, 'now'>
  readonly newId: NewId
  /** What came of a change could not be kept; the change itself stands. */
  readonly onError: (what: string, error: unknown) => void
  readonly onApplied?: (key: TunableKey) => void
}

/** Of a setting that nobody changed. */
export const UNCHANGED_VERSION = '0'
const WRITER = 'settings'
/** Changes kept in all. */
const CHANGES_KEPT = 500
const DEFAULT_HISTORY = 100
const PAGE = 1000

export function createSettings({ store, clock, newId, onError, onApplied }: SettingsDeps): Settings {
  const live = new Map<TunableKey, MutableTunable<SettingValue>>()
  const stored = new Map<TunableKey, Resource<Setting>>()
  const changes = new Map<string, Resource<SettingChangeRecord>>()
  /** First values from the configuration, for what nobody changed. */
  const firsts = new Map<TunableKey, SettingValue>()
  const topic = createTopic<SettingRow>()
  for (const [key, spec] of Object.entries(tunables)) live.set(key as TunableKey, createTunable<SettingValue>(spec.default))

  return {
    // Values are checked against the schema before they get here, so each is of its key's type.
    tunable: <K extends TunableKey>(key: K) => tunableOf(key) as unknown as Tunable<TunableValue<K>>,
    list: () => [...live.keys()].map(rowOf),
    get: (key) => rowOf(toTunableKey(key)),
    apply,
    history,
    recordEffect(key, version, effect) {
      keepEffect(key, version, effect).catch((error: unknown) => onError(`keep what came of the change of ${key}`, error))
    },
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    async load(first = {}) {
      for (const [name, value] of Object.entries(first)) {
        const key = toTunableKey(name)
        checkValue(key, value)
        firsts.set(key, value)
      }
      await readAll()
      for (const [key, value] of firsts) checkRelations(key, value, valueOf)
    },
    async run(signal) {
      for await (const change of store.changes(signal)) await follow(change)
    },
  }

  function tunableOf(key: TunableKey): MutableTunable<SettingValue> {
    return live.get(key)!
  }

  function valueOf(key: TunableKey): SettingValue {
    return tunableOf(key).get()
  }

  function rowOf(key: TunableKey): SettingRow {
    const { default: initial, unit, range, description }: TunableSpec = tunables[key]
    const resource = stored.get(key)
    return {
      key,
      value: valueOf(key),
      default: initial,
      unit,
      range,
      version: resource?.version ?? UNCHANGED_VERSION,
      description,
      modifiedAt: resource?.spec.at ?? null,
      modifiedBy: resource?.spec.by ?? null,
    }
  }

  async function apply({ key: name, value, expectedVersion, by, reason }: SettingChange) {
    const key = toTunableKey(name)
    checkValue(key, value)
    checkRelations(key, value, valueOf)
    const present = stored.get(key)
    if ((present?.version ?? UNCHANGED_VERSION) !== expectedVersion) throw changedSince(key)
    const changeId = newId()
    const at = clock.now()
    const spec: Setting = { value, changeId, at, by }
    const record: SettingChangeRecord = {
      key,
      at,
      by,
      from: valueOf(key),
      to: value,
      reason: reason ?? null,
      settingVersion: null,
      effect: null,
    }
    const setting: Write =
      present === undefined ? { kind: 'create', draft: { key: keyOf(key), spec } } : { kind: 'update', resource: { ...present, spec } }
    const [first, second] = await store.writeBatch(
      [setting, { kind: 'create', draft: { key: changeKeyOf(changeId), spec: record } }, ...tooOld()],
      { writer: WRITER },
    )
    if (first === undefined || !first.ok) {
      await readAll()
      const code = first?.error.code
      if (code === 'conflict' || code === 'already_exists' || code === 'not_found') throw changedSince(key)
      throw first?.error ?? new CoreError('internal', 'a write was not answered')
    }
    if (second?.ok === true && second.resource !== undefined) takeChange(second.resource as Resource<SettingChangeRecord>)
    take(first.resource as Resource<Setting>)
    onApplied?.(key)
    return { changeId, setting: rowOf(key) }
  }

  /** Deletes of the oldest changes beyond what is kept. */
  function tooOld(): readonly Write[] {
    if (changes.size < CHANGES_KEPT) return []
    const oldest = [...changes.values()].sort((a, b) => a.spec.at - b.spec.at).slice(0, changes.size - CHANGES_KEPT + 1)
    return oldest.map(({ key }) => ({ kind: 'delete', key }))
  }

  function changedSince(key: TunableKey): CoreError {
    const { value, version, modifiedBy, modifiedAt } = rowOf(key)
    const by = modifiedBy === null ? '' : ` by ${modifiedBy}`
    return new CoreError(
      'conflict',
      `${key} was changed${by} to ${String(value)} since you read it: look at it again before you change it`,
      {
        details: { key, changedBy: modifiedBy, changedAt: modifiedAt, value, version },
      },
    )
  }

  async function keepEffect(key: TunableKey, version: string, effect: NonNullable<SettingChangeRecord['effect']>) {
    const setting = stored.get(key)
    const change = setting === undefined || setting.version !== version ? undefined : changes.get(setting.spec.changeId)
    if (change === undefined || change.spec.effect !== null) return
    takeChange(
      await store.update<SettingChangeRecord>({ ...change, spec: { ...change.spec, settingVersion: version, effect } }, { writer: WRITER }),
    )
    topic.publish(rowOf(key))
  }

  function history({ key, limit = DEFAULT_HISTORY }: { readonly key?: string; readonly limit?: number } = {}): readonly ChangeRow[] {
    const wanted = key === undefined ? undefined : toTunableKey(key)
    return [...changes.values()]
      .filter(({ spec }) => wanted === undefined || spec.key === wanted)
      .sort((a, b) => b.spec.at - a.spec.at || Number(b.version) - Number(a.version))
      .slice(0, limit)
      .map(toChangeRow)
  }

  function toChangeRow({ key: { name }, spec }: Resource<SettingChangeRecord>): ChangeRow {
    const setting = isTunableKey(spec.key) ? stored.get(spec.key) : undefined
    const { key, at, by, from, to, reason, effect, settingVersion } = spec
    return {
      changeId: name,
      key,
      at,
      by,
      from,
      to,
      reason,
      effect,
      version: setting?.spec.changeId === name ? setting.version : (settingVersion ?? ''),
    }
  }

  async function readAll() {
    const settings = await readType<Setting>('Setting')
    for (const resource of settings) take(resource)
    const seen = new Set(settings.map(({ key }) => key.name))
    for (const key of live.keys()) if (!seen.has(key)) drop(key)
    const records = await readType<SettingChangeRecord>('SettingChange')
    changes.clear()
    for (const resource of records) takeChange(resource)
  }

  async function readType<S>(type: string): Promise<readonly Resource<S>[]> {
    const all: Resource<S>[] = []
    let cursor: string | undefined
    do {
      const page = await store.list<S>({ type, limit: PAGE, ...(cursor !== undefined && { cursor }) })
      all.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return all
  }

  async function follow(change: ResourceChange) {
    if (change.kind === 'resync') return readAll()
    if (change.kind === 'put') {
      if (change.resource.key.type === 'Setting') take(change.resource as Resource<Setting>)
      if (change.resource.key.type === 'SettingChange') takeChange(change.resource as Resource<SettingChangeRecord>)
      return
    }
    if (change.key.type === 'SettingChange') changes.delete(change.key.name)
    if (change.key.type === 'Setting' && isTunableKey(change.key.name) && stored.get(change.key.name)?.version === change.version)
      drop(change.key.name)
  }

  function takeChange(resource: Resource<SettingChangeRecord>) {
    const known = changes.get(resource.key.name)
    // The feed may bring an older one than we wrote ourselves; what came of a change is never taken back.
    if (known === undefined || known.spec.effect === null) changes.set(resource.key.name, resource)
  }

  function take(resource: Resource<Setting>) {
    const key = resource.key.name
    const known = isTunableKey(key) ? stored.get(key) : undefined
    if (!isTunableKey(key) || known?.version === resource.version || (known !== undefined && known.modifiedAt > resource.modifiedAt)) return
    stored.set(key, resource)
    tunableOf(key).set(resource.spec.value)
    topic.publish(rowOf(key))
  }

  /** Nobody has changed it (any more). */
  function drop(key: TunableKey) {
    const value = firsts.get(key) ?? tunables[key].default
    const wasStored = stored.delete(key)
    if (!wasStored && valueOf(key) === value) return
    tunableOf(key).set(value)
    topic.publish(rowOf(key))
  }
}

function keyOf(key: TunableKey): ResourceKey {
  return { type: 'Setting', mesh: '', name: key }
}

function changeKeyOf(changeId: string): ResourceKey {
  return { type: 'SettingChange', mesh: '', name: changeId }
}

import type { Clock } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { NewId } from '../lib/random.ts'
import { createTopic } from '../lib/topic.ts'
import { combineTunables, createTunable, type MutableTunable, type Tunable } from '../lib/tunable.ts'
import type { Setting } from '../model/kinds/setting.ts'
import type { SettingChangeRecord } from '../model/kinds/setting-change.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import { type LinkTunableKey, type SettingKey, type TunableKey, tunables, type TunableValue } from '../model/tunables.ts'
import type { ChangeRow, SettingRow, SettingValue } from '../model/views.ts'
import type { ResourceChange, ResourceStore, Write } from '../store/resource-store.ts'
import { createChangeHistory } from './change-history.ts'
import { INHERIT, isSettingKey, overrideKey, specOf, toOverride, toSettingKey } from './setting-keys.ts'
import { checkRelations, checkValue, problemOf } from './setting-rules.ts'

/** The tunables of this installation: kept in the store as versioned resources, followed live through its change feed. */
export interface Settings {
  tunable<K extends TunableKey>(key: K): Tunable<TunableValue<K>>
  /** What is in force for this link: its own value where it has one, else that of all links. */
  linkTunable<K extends LinkTunableKey>(link: string, key: K): Tunable<TunableValue<K>>
  /** Whether the link has a value of its own. */
  isOverridden(link: string, key: LinkTunableKey): boolean
  /** Every tunable, and what links that are there have of their own. */
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
  recordEffect(key: SettingKey, version: string, effect: { readonly afterMs: number; readonly sessions: number }): void
  onChange(listener: (row: SettingRow) => void, signal: AbortSignal): void
  /**
   * Reads the stored values and applies `first` values to what nobody changed yet. Call before anything reads a tunable. Throws
   * `not_found` or `invalid` when a first value is not one, or is at odds with what operators set.
   */
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
  readonly store: Pick<ResourceStore, 'get' | 'list' | 'writeBatch' | 'update' | 'changes'>
  readonly clock: Pick<Clock, 'now'>
  readonly newId: NewId
  /** Something beside a change went wrong (`could not ${what}`); the change itself stands. */
  readonly onError: (what: string, error: unknown) => void
  readonly onApplied?: (key: SettingKey) => void
  /** The ids of the links there are: each may have settings of its own. Default: none. */
  readonly links?: () => readonly string[]
}

/** Of a setting that nobody changed. */
const UNCHANGED_VERSION = '0'
const WRITER = 'settings'
const DEFAULT_HISTORY = 100
const PAGE = 1000

export function createSettings({ store, clock, newId, onError, onApplied, links = () => [] }: SettingsDeps): Settings {
  /** Every tunable, and of what links may have of their own what somebody asked for. */
  const live = new Map<SettingKey, MutableTunable<SettingValue>>()
  const stored = new Map<SettingKey, Resource<Setting>>()
  /** First values from the configuration, for what nobody changed. */
  const firsts = new Map<SettingKey, SettingValue>()
  const changes = createChangeHistory()
  const topic = createTopic<SettingRow>()
  let lastApply: Promise<unknown> = Promise.resolve()
  for (const [key, spec] of Object.entries(tunables)) live.set(key as TunableKey, createTunable<SettingValue>(spec.default))

  return {
    // Values are checked against the schema before they get here, so each is of its key's type.
    tunable: <K extends TunableKey>(key: K) => tunableOf(key) as unknown as Tunable<TunableValue<K>>,
    linkTunable<K extends LinkTunableKey>(link: string, key: K) {
      const own = tunableOf(overrideKey(link, key))
      const all = tunableOf(key)
      return combineTunables([own, all], () => (own.get() === INHERIT ? all.get() : own.get())) as unknown as Tunable<TunableValue<K>>
    },
    isOverridden: (link, key) => valueOf(overrideKey(link, key)) !== INHERIT,
    list() {
      const known = new Set(links())
      return [...live.keys()].filter((key) => isShown(key, known)).map(rowOf)
    },
    get: (key) => rowOf(toSettingKey(key, links())),
    apply(change) {
      // One after the other: each is held against what the one before it set.
      const applied = lastApply.then(() => apply(change))
      lastApply = applied.then(forgetOldChanges, () => undefined)
      return applied
    },
    history({ key, limit = DEFAULT_HISTORY } = {}) {
      return changes.list({ key: key === undefined ? undefined : toSettingKey(key, links()), limit }).map(toChangeRow)
    },
    recordEffect(key, version, effect) {
      keepEffect(key, version, effect).catch((error: unknown) => onError(`keep what came of the change of ${key}`, error))
    },
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    async load(first = {}) {
      for (const [name, value] of Object.entries(first)) {
        const key = toSettingKey(name, links())
        checkValue(key, value)
        firsts.set(key, value)
      }
      await readAll()
      for (const [key, value] of firsts) if (!stored.has(key)) checkRelations(key, value, related())
    },
    async run(signal) {
      // Subscribed before the read, so that nothing falls between; read again, for what fell between two runs.
      const feed = store.changes(signal)
      await readAll()
      for await (const change of feed) await follow(change)
    },
  }

  function tunableOf(key: SettingKey): MutableTunable<SettingValue> {
    return live.getOrInsertComputed(key, () => createTunable<SettingValue>(firstOf(key)))
  }

  function valueOf(key: SettingKey): SettingValue {
    return live.get(key)?.get() ?? firstOf(key)
  }

  /** Of what links may have of their own, only what somebody set. */
  function isShown(key: SettingKey, known: ReadonlySet<string>): boolean {
    const override = toOverride(key)
    return override === undefined || (known.has(override.link) && (stored.has(key) || firsts.has(key)))
  }

  function related() {
    const overriding = new Set(
      [...stored.keys(), ...firsts.keys()].map((key) => toOverride(key)?.link).filter((link) => link !== undefined),
    )
    return { valueOf, overriding: [...overriding] }
  }

  function rowOf(key: SettingKey): SettingRow {
    const { default: initial, unit, range, description } = specOf(key)
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
    const key = toSettingKey(name, links())
    checkValue(key, value)
    const present = stored.get(key)
    if ((present?.version ?? UNCHANGED_VERSION) !== expectedVersion) throw changedSince(key)
    checkRelations(key, value, related())
    const changeId = newId()
    const at = clock.now()
    const spec: Setting = { value, changeId, at, by }
    const record: SettingChangeRecord = {
      key,
      sequence: changes.nextSequence(),
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
    const change: Write = { kind: 'create', draft: { key: { type: 'SettingChange', mesh: '', name: changeId }, spec: record } }
    // All or nothing: no change without its trace.
    const [first, second] = await store.writeBatch([setting, change], { writer: WRITER, atomic: true })
    if (first?.ok !== true || second?.ok !== true) {
      const code = first?.ok === false ? first.error.code : undefined
      if (code === 'conflict' || code === 'already_exists' || code === 'not_found') {
        await refresh(key)
        throw changedSince(key)
      }
      if (second?.ok === false && code === 'aborted') throw second.error
      throw first?.ok === false ? first.error : new CoreError('internal', 'a write was not answered')
    }
    changes.take(second.resource as Resource<SettingChangeRecord>)
    take(key, first.resource as Resource<Setting>)
    onApplied?.(key)
    return { changeId, setting: rowOf(key) }
  }

  async function forgetOldChanges() {
    const writes = changes.tooOld().map((key): Write => ({ kind: 'delete', key }))
    if (writes.length === 0) return
    try {
      await store.writeBatch(writes, { writer: WRITER })
      for (const { key } of writes as readonly { readonly key: ResourceKey }[]) changes.forget(key.name)
    } catch (error) {
      onError('forget the oldest changes of settings; the next change tries again', error)
    }
  }

  function changedSince(key: SettingKey): CoreError {
    const { value, version, modifiedBy, modifiedAt } = rowOf(key)
    const message =
      modifiedBy === null
        ? `nobody has changed ${key} (it is ${String(value)}, version "${version}"): read it again before you change it`
        : `${key} was changed to ${String(value)} by ${modifiedBy} since you read it: look at it again before you change it`
    return new CoreError('conflict', message, { details: { key, changedBy: modifiedBy, changedAt: modifiedAt, value, version } })
  }

  async function keepEffect(key: SettingKey, version: string, effect: NonNullable<SettingChangeRecord['effect']>) {
    const setting = stored.get(key)
    const change = setting === undefined || setting.version !== version ? undefined : changes.get(setting.spec.changeId)
    if (change === undefined || change.spec.effect !== null) return
    const spec: SettingChangeRecord = { ...change.spec, settingVersion: version, effect }
    changes.take(await store.update<SettingChangeRecord>({ ...change, spec }, { writer: WRITER }))
    topic.publish(rowOf(key))
  }

  function toChangeRow({ key: { name }, spec }: Resource<SettingChangeRecord>): ChangeRow {
    const setting = isSettingKey(spec.key) ? stored.get(spec.key) : undefined
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
    const before = new Map(stored)
    const found = new Map((await readType<Setting>('Setting')).map((resource) => [resource.key.name, resource]))
    const overrides = [...found.keys()].filter((name) => isSettingKey(name))
    for (const key of new Set([...live.keys(), ...overrides])) {
      // Changed by ourselves while we read: what was read may be older.
      if (stored.get(key) !== before.get(key)) continue
      const resource = found.get(key)
      if (resource === undefined) drop(key)
      else take(key, resource)
    }
    changes.replaceAll(await readType<SettingChangeRecord>('SettingChange'))
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
    const { type, name } = change.kind === 'put' ? change.resource.key : change.key
    if (type === 'SettingChange') {
      if (change.kind === 'put') changes.take(change.resource as Resource<SettingChangeRecord>)
      else changes.forget(name)
    }
    if (type !== 'Setting' || !isSettingKey(name)) return
    // What we wrote ourselves is known already.
    const isKnown = change.kind === 'put' && stored.get(name)?.version === change.resource.version
    if (!isKnown) await refresh(name)
  }

  /** The feed says only that something changed: what it brings may be older than what we have written since. */
  async function refresh(key: SettingKey): Promise<void> {
    for (;;) {
      const before = stored.get(key)
      const found = await store.get<Setting>(keyOf(key)).catch((error: unknown) => {
        if (isCoreError(error, 'not_found')) return undefined
        throw error
      })
      if (stored.get(key) !== before) continue
      return found === undefined ? drop(key) : take(key, found)
    }
  }

  function take(key: SettingKey, resource: Resource<Setting>) {
    if (stored.get(key)?.version === resource.version) return
    stored.set(key, resource)
    const problem = problemOf(key, resource.spec.value)
    tunableOf(key).set(problem === undefined ? resource.spec.value : firstOf(key))
    topic.publish(rowOf(key))
    // Written by a version that allowed it.
    if (problem !== undefined) onError(`take a stored setting, so ${key} is ${String(valueOf(key))}`, new CoreError('invalid', problem))
  }

  /** Nobody has changed it (any more). */
  function drop(key: SettingKey) {
    const value = firstOf(key)
    const wasStored = stored.delete(key)
    if (!wasStored && valueOf(key) === value) return
    tunableOf(key).set(value)
    topic.publish(rowOf(key))
  }

  function firstOf(key: SettingKey): SettingValue {
    return firsts.get(key) ?? specOf(key).default
  }
}

function keyOf(key: SettingKey): ResourceKey {
  return { type: 'Setting', mesh: '', name: key }
}

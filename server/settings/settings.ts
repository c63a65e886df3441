import type { Clock } from '../lib/clock.ts'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { NewId } from '../lib/random.ts'
import { combineTunables, type Tunable } from '../lib/tunable.ts'
import type { Setting } from '../model/kinds/setting.ts'
import type { SettingChangeRecord } from '../model/kinds/setting-change.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import type { LinkTunableKey, SettingKey, TunableKey, TunableValue } from '../model/tunables.ts'
import type { ChangeRow, SettingRow, SettingValue } from '../model/views.ts'
import type { ResourceChange, ResourceStore, Write } from '../store/resource-store.ts'
import { createChangeHistory } from './change-history.ts'
import { INHERIT, isSettingKey, overrideKey, toSettingKey } from './setting-keys.ts'
import { checkRelations, checkValue } from './setting-rules.ts'
import { createSettingValues, UNCHANGED_VERSION } from './setting-values.ts'

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

const WRITER = 'settings'
const DEFAULT_HISTORY = 100
const PAGE = 1000

export function createSettings({ store, clock, newId, onError, onApplied, links = () => [] }: SettingsDeps): Settings {
  const values = createSettingValues(onError)
  const changes = createChangeHistory()
  let lastApply: Promise<unknown> = Promise.resolve()

  return {
    // Values are checked against the schema before they get here, so each is of its key's type.
    tunable: <K extends TunableKey>(key: K) => values.tunable(key) as unknown as Tunable<TunableValue<K>>,
    linkTunable<K extends LinkTunableKey>(link: string, key: K) {
      const own = values.tunable(overrideKey(link, key))
      const all = values.tunable(key)
      return combineTunables([own, all], () => (own.get() === INHERIT ? all.get() : own.get())) as unknown as Tunable<TunableValue<K>>
    },
    isOverridden: (link, key) => values.value(overrideKey(link, key)) !== INHERIT,
    list: () => values.shown(links()),
    get: (key) => values.row(toSettingKey(key, links())),
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
    onChange: (listener, signal) => values.changed.subscribe(listener, signal),
    async load(first = {}) {
      for (const [name, value] of Object.entries(first)) {
        const key = toSettingKey(name, links())
        checkValue(key, value)
        values.setFirst(key, value)
      }
      await readAll()
      for (const [key, value] of values.firstsInForce()) checkRelations(key, value, values.present())
    },
    async run(signal) {
      // Subscribed before the read, so that nothing falls between; read again, for what fell between two runs.
      const feed = store.changes(signal)
      await readAll()
      for await (const change of feed) await follow(change)
    },
  }

  async function apply({ key: name, value, expectedVersion, by, reason }: SettingChange) {
    const key = toSettingKey(name, links())
    checkValue(key, value)
    const present = values.stored(key)
    if ((present?.version ?? UNCHANGED_VERSION) !== expectedVersion) throw changedSince(key)
    checkRelations(key, value, values.present())
    const changeId = newId()
    const at = clock.now()
    const spec: Setting = { value, changeId, at, by }
    const record: SettingChangeRecord = {
      key,
      sequence: changes.nextSequence(),
      at,
      by,
      from: values.value(key),
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
    values.take(key, first.resource as Resource<Setting>)
    onApplied?.(key)
    return { changeId, setting: values.row(key) }
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
    const { value, version, modifiedBy, modifiedAt } = values.row(key)
    const message =
      modifiedBy === null
        ? `nobody has changed ${key} (it is ${String(value)}, version "${version}"): read it again before you change it`
        : `${key} was changed to ${String(value)} by ${modifiedBy} since you read it: look at it again before you change it`
    return new CoreError('conflict', message, { details: { key, changedBy: modifiedBy, changedAt: modifiedAt, value, version } })
  }

  async function keepEffect(key: SettingKey, version: string, effect: NonNullable<SettingChangeRecord['effect']>) {
    const setting = values.stored(key)
    const change = setting === undefined || setting.version !== version ? undefined : changes.get(setting.spec.changeId)
    if (change === undefined || change.spec.effect !== null) return
    const spec: SettingChangeRecord = { ...change.spec, settingVersion: version, effect }
    changes.take(await store.update<SettingChangeRecord>({ ...change, spec }, { writer: WRITER }))
    values.changed.publish(values.row(key))
  }

  function toChangeRow({ key: { name }, spec }: Resource<SettingChangeRecord>): ChangeRow {
    const setting = isSettingKey(spec.key) ? values.stored(spec.key) : undefined
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
    const before = new Map(values.keys().map((key) => [key, values.stored(key)]))
    const found = new Map((await readType<Setting>('Setting')).map((resource) => [resource.key.name, resource]))
    for (const key of new Set([...values.keys(), ...[...found.keys()].filter((name) => isSettingKey(name))])) {
      // Changed by ourselves while we read: what was read may be older.
      if (values.stored(key) !== before.get(key)) continue
      const resource = found.get(key)
      if (resource === undefined) values.drop(key)
      else values.take(key, resource)
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
    const isKnown = change.kind === 'put' && values.stored(name)?.version === change.resource.version
    if (!isKnown) await refresh(name)
  }

  /** The feed says only that something changed: what it brings may be older than what we have written since. */
  async function refresh(key: SettingKey): Promise<void> {
    for (;;) {
      const before = values.stored(key)
      const found = await store.get<Setting>(keyOf(key)).catch((error: unknown) => {
        if (isCoreError(error, 'not_found')) return undefined
        throw error
      })
      if (values.stored(key) !== before) continue
      return found === undefined ? values.drop(key) : values.take(key, found)
    }
  }
}

function keyOf(key: SettingKey): ResourceKey {
  return { type: 'Setting', mesh: '', name: key }
}

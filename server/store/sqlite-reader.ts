import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { CoreError, isCoreError } from '../lib/errors.ts'
import type { Resource, ResourceKey, Version } from '../model/resource.ts'
import { fromStoredText } from './json-value.ts'
import type { ListQuery, Page } from './resource-store.ts'
import { explainFault } from './sqlite-faults.ts'
import type { Place } from './sqlite-worker-protocol.ts'
import { fromCursor, hasLabels, limitOf, plainKey, toPage, wantedKeys } from './store-rules.ts'

/**
 * Reads on a connection of their own, each as of the last commit. What is in the file decides; a resource whose version is
 * known already is the same object as before and is not parsed again.
 */
export interface SqliteReader {
  get(key: ResourceKey): Resource | undefined
  list<S>(query: ListQuery): Page<Resource<S>>
  /** The resource as it is in this version of its own, if that is known or stored. */
  inVersion(key: ResourceKey, version: number): Resource | undefined
  /** Spares reading and parsing what was just written. `chars` is the length of its text. */
  remember(resource: Resource, chars: number): void
  /** A version that is no longer stored. */
  forget(version: number): void
  close(): void
}

export interface SqliteReaderOptions {
  /** Text of remembered resources, in characters, kept at most; the oldest go first. */
  readonly maxRememberedChars?: number
}

const DEFAULT_REMEMBERED_CHARS = 32 * 1024 * 1024
const BUSY_TIMEOUT_MS = 5_000

const FIND_VERSION = 'SELECT version FROM resources WHERE type = ? AND mesh = ? AND name = ?'
const SELECT = `SELECT r.type, r.mesh, r.name, r.version, r.created_at, r.modified_at, r.writer, r.instance, r.labels, r.spec, r.status,
  o.type AS owner_type, o.mesh AS owner_mesh, o.name AS owner_name FROM resources r LEFT JOIN resources o ON o.id = r.owner_id`
const FIND = `${SELECT} WHERE r.type = ? AND r.mesh = ? AND r.name = ?`

type StoredRow = {
  readonly type: string
  readonly mesh: string
  readonly name: string
  readonly version: number
  readonly created_at: number
  readonly modified_at: number
  readonly writer: string
  readonly instance: string
  readonly labels: string
  readonly spec: string
  readonly status: string | null
} & (
  | { readonly owner_type: string; readonly owner_mesh: string; readonly owner_name: string }
  | { readonly owner_type: null; readonly owner_mesh: null; readonly owner_name: null }
)

export function openSqliteReader(path: string, options: SqliteReaderOptions = {}): SqliteReader {
  const maxChars = options.maxRememberedChars ?? DEFAULT_REMEMBERED_CHARS
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  const statements = new Map<string, StatementSync>()
  /** By version, which is unique in the whole store: an entry can be of no more use, but never wrong. */
  const remembered = new Map<number, { readonly resource: Resource; readonly chars: number }>()
  let rememberedChars = 0

  return {
    get: (key) => reading(() => get(key)),
    list: <S>(query: ListQuery) =>
      reading(() => {
        const { keys } = query
        return keys === undefined ? listAll<S>(query) : inSnapshot(() => listKeys<S>({ ...query, keys }))
      }),
    inVersion(key, version) {
      const known = remembered.get(version)?.resource
      if (known !== undefined) return known
      const found = reading(() => get(key))
      return found !== undefined && Number(found.version) === version ? found : undefined
    },
    remember,
    forget,
    close: () => database.close(),
  }

  function get(key: ResourceKey): Resource | undefined {
    const place = placeOf(key)
    const version = prepared(FIND_VERSION).get(...place)?.['version']
    if (version === undefined) return undefined
    const known = remembered.get(Number(version))
    if (known !== undefined) return known.resource
    const [row] = rowsOf(FIND, place)
    return row === undefined ? undefined : toResource(row)
  }

  function listAll<S>(query: ListQuery): Page<Resource<S>> {
    const limit = limitOf(query)
    const conditions = ['r.type = ?']
    const values: SQLInputValue[] = [query.type]
    if (query.mesh !== undefined) {
      conditions.push('r.mesh = ?')
      values.push(query.mesh)
    }
    if (query.cursor !== undefined) {
      const { mesh, name } = fromCursor(query.cursor)
      conditions.push('(r.mesh, r.name) > (?, ?)')
      values.push(mesh, name)
    }
    for (const [label, value] of Object.entries(query.labels ?? {})) {
      conditions.push('EXISTS (SELECT 1 FROM json_each(r.labels) WHERE key = ? AND value = ?)')
      values.push(label, value)
    }
    const sql = `${SELECT} WHERE ${conditions.join(' AND ')} ORDER BY r.mesh, r.name LIMIT ?`
    return toPage(rowsOf(sql, [...values, limit + 1]).map(toResource), limit)
  }

  function listKeys<S>(query: ListQuery & { readonly keys: readonly ResourceKey[] }): Page<Resource<S>> {
    const limit = limitOf(query)
    const found: Resource[] = []
    for (const key of wantedKeys(query)) {
      const resource = get(key)
      if (resource === undefined || !hasLabels(resource, query.labels)) continue
      found.push(resource)
      if (found.length > limit) break
    }
    return toPage(found, limit)
  }

  /** Many statements as of one commit; one lock for all also halves their cost. */
  function inSnapshot<T>(read: () => T): T {
    database.exec('BEGIN')
    try {
      return read()
    } finally {
      database.exec('COMMIT')
    }
  }

  function toResource(row: StoredRow): Resource {
    const known = remembered.get(row.version)
    if (known !== undefined) return known.resource
    const { labels, spec, status } = row
    const resource: Resource = Object.freeze({
      key: plainKey(row),
      labels: fromStoredText(labels) as Readonly<Record<string, string>>,
      spec: fromStoredText(spec),
      ...(status !== null && { status: fromStoredText(status) }),
      ...(row.owner_type !== null && { owner: plainKey({ type: row.owner_type, mesh: row.owner_mesh, name: row.owner_name }) }),
      version: String(row.version) as Version,
      writer: Object.freeze({ name: row.writer, instance: row.instance }),
      createdAt: row.created_at,
      modifiedAt: row.modified_at,
    })
    remember(resource, labels.length + spec.length + (status?.length ?? 0))
    return resource
  }

  function remember(resource: Resource, chars: number) {
    const version = Number(resource.version)
    forget(version)
    remembered.set(version, { resource, chars })
    rememberedChars += chars
    for (const oldest of remembered.keys()) {
      if (rememberedChars <= maxChars) break
      forget(oldest)
    }
  }

  function forget(version: number) {
    const known = remembered.get(version)
    if (known === undefined) return
    remembered.delete(version)
    rememberedChars -= known.chars
  }

  /** What SELECT gives, by the STRICT table's own types. */
  function rowsOf(sql: string, values: readonly SQLInputValue[]): readonly StoredRow[] {
    return prepared(sql).all(...values) as unknown as readonly StoredRow[]
  }

  function prepared(sql: string): StatementSync {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  function reading<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      if (isCoreError(error)) throw error
      throw new CoreError('unavailable', explainFault(error, path), { cause: error, safeToRetry: true })
    }
  }
}

export function placeOf({ type, mesh, name }: ResourceKey): Place {
  return [type, mesh, name]
}

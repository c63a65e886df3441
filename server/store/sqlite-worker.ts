import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import {
  ALREADY_EXISTS,
  CONFLICT,
  DONE,
  NOT_FOUND,
  OWNER_MISSING,
  type Place,
  ROLLED_BACK,
  type WorkerAnswer,
  type WorkerOptions,
  type WorkerRequest,
  type WorkerWrite,
  type Winner,
} from './sqlite-worker-protocol.ts'
import { SCHEMA, SCHEMA_VERSION } from './sqlite-schema.ts'

/** The one writer of the file. Runs in a thread of its own, so that a slow disk never holds up the event loop. */

const { path, lockPath } = workerData as WorkerOptions
const answer = (message: WorkerAnswer) => parentPort!.postMessage(message)

const opened = open()
if (opened !== undefined) serve(opened)

function open(): DatabaseSync | undefined {
  try {
    const lock = new DatabaseSync(lockPath, { timeout: 0 })
    lock.exec(
      'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS held (by TEXT); COMMIT; BEGIN EXCLUSIVE',
    )
    // Kept for the life of the thread: collected, it would let go of the lock.
    Object.assign(globalThis, { tidewatchLock: lock })
  } catch (error) {
    answer({ kind: 'refused', message: explain(error, lockPath) })
    return undefined
  }
  try {
    const database = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints: true })
    const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
    if (version > SCHEMA_VERSION) {
      answer({
        kind: 'refused',
        message: `${path} was written by a newer Tidewatch (schema ${version}, this one knows ${SCHEMA_VERSION}): start that version, or use another --data-dir`,
      })
      return undefined
    }
    const fault = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0]
    if (fault !== 'ok') {
      answer({ kind: 'refused', message: `${path} is damaged (${String(fault)}): restore it from a backup, or move it away to start anew` })
      return undefined
    }
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    if (version < SCHEMA_VERSION) database.exec(`BEGIN IMMEDIATE; ${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`)
    const highest = database.prepare('SELECT highest FROM versions').get()
    answer({ kind: 'ready', highestVersion: Number(highest?.['highest'] ?? 0) })
    return database
  } catch (error) {
    answer({ kind: 'refused', message: explain(error, path) })
    return undefined
  }
}

/** One line: what is wrong with the file, and what would help. */
function explain(error: unknown, file: string): string {
  const { errcode, message } = error as { errcode?: number; message?: string }
  switch ((errcode ?? 0) & 0xff) {
    case 5:
    case 6:
      return `${file} is in use by another process: stop that one, or use another --data-dir`
    case 8:
      return `${file} can't be written (read-only): make it writable, or use another --data-dir`
    case 11:
    case 26:
      return `${file} is damaged or not a Tidewatch store: restore it from a backup, or move it away to start anew`
    case 13:
      return `no space is left on the disk of ${file}: free some, or use another --data-dir`
    case 14:
      return `${file} can't be opened: make its folder readable and writable, or use another --data-dir`
    default:
      return `${file} can't be used: ${message ?? String(error)}`
  }
}

function serve(database: DatabaseSync) {
  const statements = prepare(database)
  parentPort!.on('message', (request: WorkerRequest | 'close') => {
    if (request === 'close') {
      database.close()
      process.exit(0)
    }
    answer(commit(database, { statements, request }))
  })
}

type Statements = Readonly<Record<'find' | 'insert' | 'update' | 'delete' | 'family' | 'highest', StatementSync>>

function prepare(database: DatabaseSync): Statements {
  return {
    find: database.prepare(
      'SELECT id, version, writer, instance, modified_at AS at FROM resources WHERE type = ? AND mesh = ? AND name = ?',
    ),
    insert: database.prepare(
      'INSERT INTO resources (type, mesh, name, version, created_at, modified_at, writer, instance, labels, spec, status, owner_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    update: database.prepare(
      'UPDATE resources SET version = ?, modified_at = ?, writer = ?, instance = ?, labels = ?, spec = ?, status = ? WHERE type = ? AND mesh = ? AND name = ? AND version = ?',
    ),
    delete: database.prepare('DELETE FROM resources WHERE id = ?'),
    family: database.prepare(
      `WITH RECURSIVE family (id, depth) AS (SELECT ?, 0 UNION ALL SELECT resources.id, depth + 1 FROM resources JOIN family ON owner_id = family.id)
       SELECT type, mesh, name, version FROM family JOIN resources USING (id) ORDER BY depth DESC`,
    ),
    highest: database.prepare('UPDATE versions SET highest = ?'),
  }
}

interface Work {
  readonly statements: Statements
  readonly request: WorkerRequest
}

function commit(database: DatabaseSync, { statements, request }: Work): WorkerAnswer {
  const { writes, atomic } = request
  const outcomes = new Uint8Array(writes.length)
  const winners = new Map<number, Winner>()
  const deleted = new Map<number, readonly (readonly [Place, number])[]>()
  try {
    database.exec('BEGIN IMMEDIATE')
    statements.highest.run(request.highestVersion)
    let index = 0
    while (index < writes.length) {
      const range = atomic.find(([from]) => from === index)
      const [from, to] = range ?? [index, index + 1]
      if (range !== undefined) database.exec('SAVEPOINT whole')
      for (let each = from; each < to; each++) outcomes[each] = apply(each)
      if (range !== undefined) {
        const isWhole = outcomes.subarray(from, to).every((outcome) => outcome === DONE)
        if (!isWhole) {
          database.exec('ROLLBACK TO whole')
          for (let each = from; each < to; each++) {
            if (outcomes[each] === DONE) outcomes[each] = ROLLED_BACK
            deleted.delete(each)
          }
        }
        database.exec('RELEASE whole')
      }
      index = to
    }
    database.exec('COMMIT')
    return { kind: 'committed', outcomes, winners, deleted }
  } catch (error) {
    try {
      if (database.isTransaction) database.exec('ROLLBACK')
    } catch {
      // Already rolled back by SQLite itself: nothing of it is stored either way.
    }
    return { kind: 'failed', message: explain(error, path) }
  }

  function apply(index: number): number {
    const write = writes[index]!
    switch (write.kind) {
      case 'create':
        return create(write)
      case 'update':
        return update(index, write)
      case 'delete':
        return remove(index, write)
    }
  }

  function create({ key, version, at, writer, labels, spec, status, owner }: WorkerWrite & { kind: 'create' }): number {
    const ownerId = owner === null ? null : (statements.find.get(...owner)?.['id'] ?? undefined)
    if (ownerId === undefined) return statements.find.get(...key) === undefined ? OWNER_MISSING : ALREADY_EXISTS
    const { changes } = statements.insert.run(...key, version, at, at, writer, request.instance, labels, spec, status, ownerId)
    return changes === 1 ? DONE : ALREADY_EXISTS
  }

  function update(index: number, { key, expected, version, at, writer, labels, spec, status }: WorkerWrite & { kind: 'update' }): number {
    const { changes } = statements.update.run(version, at, writer, request.instance, labels, spec, status, ...key, expected)
    return changes === 1 ? DONE : whyNot(index, key)
  }

  function remove(index: number, { key, expected }: WorkerWrite & { kind: 'delete' }): number {
    const row = statements.find.get(...key)
    if (row === undefined || (expected !== null && row['version'] !== expected)) return whyNot(index, key)
    const family = statements.family.all(row['id']!)
    deleted.set(
      index,
      family.map(({ type, mesh, name, version }) => [[String(type), String(mesh), String(name)], Number(version)] as const),
    )
    statements.delete.run(row['id']!)
    return DONE
  }

  function whyNot(index: number, key: Place): number {
    const row = statements.find.get(...key)
    if (row === undefined) return NOT_FOUND
    winners.set(index, {
      version: Number(row['version']),
      writer: String(row['writer']),
      instance: String(row['instance']),
      at: Number(row['at']),
    })
    return CONFLICT
  }
}

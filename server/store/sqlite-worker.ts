import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { createSystemClock } from '../lib/clock.ts'
import { damaged, explainFault } from './sqlite-faults.ts'
import { SCHEMA, SCHEMA_VERSION } from './sqlite-schema.ts'
import {
  outcome,
  type Place,
  type Removed,
  type Winner,
  type WorkerAnswer,
  type WorkerCreate,
  type WorkerDelete,
  type WorkerOptions,
  type WorkerRequest,
  type WorkerUpdate,
} from './sqlite-worker-protocol.ts'

// The one writer of the file. It has a thread of its own, so that a slow disk never holds up the event loop.

const { path, lockPath } = workerData as WorkerOptions
/** Longest wait for another process that reads or writes the file, a backup for example. */
const BUSY_TIMEOUT_MS = 5_000
/** 16 MB of log. Insights are written again and again: the longer the log, the more of their pages go into the file once instead of four times. */
const CHECKPOINT_PAGES = 4_000
const clock = createSystemClock()

const answer = (message: WorkerAnswer) => parentPort?.postMessage(message)
const refuse = (message: string) => answer({ kind: 'refused', message })

const lock = takeLock()
const database = lock === undefined ? undefined : open()
if (database !== undefined) serve(database)

/** An exclusive lock on a database of its own: the system lets go of it however the process ends. */
function takeLock(): DatabaseSync | undefined {
  try {
    const held = new DatabaseSync(lockPath, { timeout: 0 })
    held.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return held
  } catch (error) {
    refuse(explainFault(error, lockPath))
    return undefined
  }
}

function open(): DatabaseSync | undefined {
  try {
    const opened = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
    const version = Number(opened.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
    const tables = Number(opened.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables'] ?? 0)
    if (version > SCHEMA_VERSION) {
      refuse(
        `${path} was written by a newer Tidewatch (schema ${version}, this one knows ${SCHEMA_VERSION}): start that version, or use another --data-dir`,
      )
      return undefined
    }
    if (version === 0 && tables > 0) {
      refuse(`${path} is a database of something else: use another --data-dir`)
      return undefined
    }
    const fault = Object.values(opened.prepare('PRAGMA quick_check(1)').get() ?? {})[0]
    if (fault !== 'ok') {
      refuse(damaged(path, String(fault)))
      return undefined
    }
    opened.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    if (version < SCHEMA_VERSION) opened.exec(`BEGIN IMMEDIATE; ${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`)
    return opened
  } catch (error) {
    refuse(explainFault(error, path))
    return undefined
  }
}

function serve(opened: DatabaseSync): void {
  const statements = prepare(opened)
  parentPort?.on('message', (request: WorkerRequest | 'close') => {
    if (request === 'close') {
      opened.close()
      lock?.close()
      parentPort?.close()
    } else answer(commit(request, { opened, statements }))
  })
  const highest = opened.prepare('SELECT highest FROM versions').get()
  answer({ kind: 'ready', highestVersion: Number(highest?.['highest'] ?? 0) })
}

type Statements = Readonly<Record<'find' | 'insert' | 'update' | 'delete' | 'family' | 'highest', StatementSync>>

function prepare(opened: DatabaseSync): Statements {
  return {
    find: opened.prepare('SELECT id, version, writer, instance, modified_at AS at FROM resources WHERE type = ? AND mesh = ? AND name = ?'),
    insert: opened.prepare(
      `INSERT INTO resources (type, mesh, name, version, created_at, modified_at, writer, instance, labels, spec, status, owner_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    update: opened.prepare(
      `UPDATE resources SET version = ?, modified_at = ?, writer = ?, instance = ?, labels = ?, spec = ?, status = ?
       WHERE type = ? AND mesh = ? AND name = ? AND version = ?`,
    ),
    delete: opened.prepare('DELETE FROM resources WHERE id = ?'),
    family: opened.prepare(
      `WITH RECURSIVE family (id, depth) AS (SELECT ?, 0 UNION ALL SELECT resources.id, depth + 1 FROM resources JOIN family ON owner_id = family.id)
       SELECT type, mesh, name, version FROM family JOIN resources USING (id) ORDER BY depth DESC`,
    ),
    highest: opened.prepare('UPDATE versions SET highest = ?'),
  }
}

interface Means {
  readonly opened: DatabaseSync
  readonly statements: Statements
}

/** Reads nothing before it has the write lock (BEGIN IMMEDIATE): a read transaction that then wants to write is refused at once, whatever the timeout. */
function commit(request: WorkerRequest, { opened, statements }: Means): WorkerAnswer {
  const { instance, writes, atomic } = request
  const outcomes = new Uint8Array(writes.length)
  const winners = new Map<number, Winner>()
  const removed = new Map<number, readonly Removed[]>()
  const startedAt = clock.monotonic()
  try {
    opened.exec('BEGIN IMMEDIATE')
    let from = 0
    for (const [start, end] of [...atomic, [writes.length, writes.length] as const]) {
      for (; from < start; from++) outcomes[from] = apply(from)
      if (start === end) continue
      allOrNothing(start, end)
      from = end
    }
    // An empty request asks whether the file can be written.
    if (writes.length > 0 && !outcomes.includes(outcome.done)) opened.exec('ROLLBACK')
    else {
      statements.highest.run(request.highestVersion)
      opened.exec('COMMIT')
    }
    return { kind: 'committed', tookMs: clock.monotonic() - startedAt, outcomes, winners, removed }
  } catch (error) {
    try {
      if (opened.isTransaction) opened.exec('ROLLBACK')
    } catch {
      // SQLite rolls back by itself before the next transaction; nothing of this one is stored either way.
    }
    return { kind: 'failed', message: explainFault(error, path) }
  }

  function allOrNothing(start: number, end: number) {
    opened.exec('SAVEPOINT whole')
    for (let index = start; index < end; index++) outcomes[index] = apply(index)
    if (!outcomes.subarray(start, end).every((each) => each === outcome.done)) {
      opened.exec('ROLLBACK TO whole')
      for (let index = start; index < end; index++) {
        if (outcomes[index] === outcome.done) outcomes[index] = outcome.rolledBack
        removed.delete(index)
      }
    }
    opened.exec('RELEASE whole')
  }

  function apply(index: number): number {
    const write = writes[index]!
    switch (write.kind) {
      case 'create':
        return create(index, write)
      case 'update':
        return update(index, write)
      case 'delete':
        return remove(index, write)
    }
  }

  function create(index: number, { key, version, at, writer, labels, spec, status, owner }: WorkerCreate): number {
    const ownerRow = owner === null ? undefined : statements.find.get(...owner)
    if (owner !== null && ownerRow === undefined) return noteWinner(index, key) ? outcome.alreadyExists : outcome.ownerMissing
    const ownerId = ownerRow?.['id'] ?? null
    const { changes } = statements.insert.run(...key, version, at, at, writer, instance, labels, spec, status, ownerId)
    if (changes === 1) return outcome.done
    noteWinner(index, key)
    return outcome.alreadyExists
  }

  function update(index: number, { key, expected, version, at, writer, labels, spec, status }: WorkerUpdate): number {
    const { changes } = statements.update.run(version, at, writer, instance, labels, spec, status, ...key, expected)
    return changes === 1 ? outcome.done : whyNot(index, key)
  }

  function remove(index: number, { key, expected }: WorkerDelete): number {
    const row = statements.find.get(...key)
    if (row === undefined || (expected !== null && row['version'] !== expected)) return whyNot(index, key)
    const id = row['id']!
    const family = statements.family.all(id)
    removed.set(
      index,
      family.map(({ type, mesh, name, version }) => [[String(type), String(mesh), String(name)], Number(version)]),
    )
    statements.delete.run(id)
    return outcome.done
  }

  function whyNot(index: number, key: Place): number {
    return noteWinner(index, key) ? outcome.conflict : outcome.notFound
  }

  /** Who wrote what is in the way; false when nothing is. */
  function noteWinner(index: number, key: Place): boolean {
    const row = statements.find.get(...key)
    if (row === undefined) return false
    winners.set(index, {
      version: Number(row['version']),
      writer: String(row['writer']),
      instance: String(row['instance']),
      at: Number(row['at']),
    })
    return true
  }
}

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, yieldToEventLoop } from '../lib/clock.ts'
import { CoreError, toCoreError } from '../lib/errors.ts'
import type { Kinds } from '../model/kind.ts'
import type { LostTo, Resource, ResourceDraft, ResourceKey, Version } from '../model/resource.ts'
import { createChangeFeed } from './change-feed.ts'
import { type StoredValue, toStoredValue } from './json-value.ts'
import type {
  ListQuery,
  ReadOptions,
  ResourceChange,
  ResourceStore,
  StoreHealth,
  Write,
  WriteOptions,
  WriteResult,
} from './resource-store.ts'
import { explainFault } from './sqlite-faults.ts'
import { openSqliteReader, placeOf, type SqliteReader, type SqliteReaderOptions } from './sqlite-reader.ts'
import { outcome, type Place, type Winner, type WorkerWrite } from './sqlite-worker-protocol.ts'
import { sqliteThread } from './sqlite-thread.ts'
import { type Job, type JobAnswer, type SqliteWriter, startSqliteWriter } from './sqlite-writer.ts'
import { checkKey, checkOpen, keyOfWrite, kindOf, ownerOf, plainKey, refusal } from './store-rules.ts'

export interface SqliteStoreDeps extends SqliteReaderOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'at'>
  readonly kinds: Kinds
  /** Named as the instance of every writer. */
  readonly instance: string
  /** Changes a slow reader may have unread before it is told to resync. */
  readonly maxBacklog?: number
}

const FILE = 'tidewatch.db'
const LOCK_FILE = 'tidewatch.lock'
/** Committed rows made into resources before others get a turn of the event loop. */
const ROWS_PER_TURN = 100

/**
 * Opens the store in a folder, made if missing and used by one process at a time. Writes go to a thread of their own in group commits; reads are answered here, on a connection
 * of their own, and see every write that was acknowledged. Changes are published and writers answered in the order of the
 * commits.
 *
 * Throws `unavailable` with one line that names the file, what is wrong and what would help: in use by another process,
 * damaged, written by a newer version, not readable or not writable.
 */
export async function openSqliteStore(folder: string, deps: SqliteStoreDeps): Promise<ResourceStore & StoreHealth> {
  const { clock, instance, kinds } = deps
  makeFolder(folder)
  const path = join(folder, FILE)
  const writer = await startSqliteWriter({ clock, instance, startThread: sqliteThread({ path, lockPath: join(folder, LOCK_FILE) }) })
  const reader = await openReader(path, { options: deps, writer })
  const feed = createChangeFeed(deps.maxBacklog)
  /** Answered, but not yet told to those who wait. */
  const answered: { readonly batch: Batch; readonly answer: JobAnswer }[] = []
  let telling: Promise<void> | undefined
  let closing: Promise<void> | undefined

  return {
    async get<S>(key: ResourceKey, reading: ReadOptions = {}) {
      checkOpen(closing !== undefined, reading)
      checkKey(kinds, key)
      const found = reader.get(key)
      if (found === undefined) throw refusal.notFound(key)
      return found as Resource<S>
    },
    async list<S>(query: ListQuery, reading: ReadOptions = {}) {
      checkOpen(closing !== undefined, reading)
      kindOf(kinds, query.type)
      return reader.list<S>(query)
    },
    async create<S>(draft: ResourceDraft<S>, writing: WriteOptions) {
      return (await one({ kind: 'create', draft }, writing)) as Resource<S>
    },
    async update<S>(resource: Resource<S>, writing: WriteOptions) {
      return (await one({ kind: 'update', resource }, writing)) as Resource<S>
    },
    async delete(key, { expectedVersion, ...writing }) {
      await one({ kind: 'delete', key, ...(expectedVersion !== undefined && { expectedVersion }) }, writing)
    },
    writeBatch: async (writes, writing) => writeBatch(writes, writing),
    changes(signal) {
      checkOpen(closing !== undefined, {})
      return feed.subscribe(signal)
    },
    problem: () => writer.problem(),
    slow: () => writer.slow(),
    close: () => (closing ??= close()),
  }

  async function close() {
    // The writer is the last to let go of the file: only then is everything in it, and the log beside it gone.
    reader.close()
    await writer.close()
    await telling
    feed.close()
  }

  async function one(write: Write, writing: WriteOptions): Promise<Resource | undefined> {
    const [result] = await writeBatch([write], writing)
    if (result === undefined) throw new CoreError('internal', 'a write was not answered')
    if (!result.ok) throw result.error
    return result.resource
  }

  /** Everything is taken from the caller before this returns: what it changes afterwards is not seen. */
  function writeBatch(
    writes: readonly Write[],
    writing: WriteOptions & { readonly atomic?: boolean },
  ): Promise<readonly WriteResult[]> | readonly WriteResult[] {
    checkOpen(closing !== undefined, writing)
    const isAtomic = writing.atomic === true
    const rows: readonly (Row | CoreError)[] = writes.map((write) => tryPrepare(write, writing.writer))
    const sound = rows.filter((row): row is Row => !(row instanceof CoreError))
    if (sound.length === 0 || (isAtomic && sound.length < rows.length)) {
      return rows.map((row) => ({ ok: false, error: row instanceof CoreError ? row : refusal.notInAtomicBatch(keyOf(row.write.key)) }))
    }
    return new Promise((resolve, reject) => {
      const batch: Batch = { rows, resolve: settledBy(resolve) }
      const job: Job = {
        writes: sound.map(({ write }) => write),
        isAtomic,
        settle(answer) {
          answered.push({ batch, answer })
          telling ??= tellAll()
        },
      }
      writer.submit(job)
      const { signal } = writing
      const onAbort = () => {
        writer.withdraw(job)
        if (signal !== undefined) reject(refusal.aborted(signal))
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      function settledBy(settle: typeof resolve): typeof resolve {
        return (results) => {
          signal?.removeEventListener('abort', onAbort)
          settle(results)
        }
      }
    })
  }

  function tryPrepare(write: Write, by: string): Row | CoreError {
    try {
      return prepare(write, by)
    } catch (error) {
      return toCoreError(error)
    }
  }

  function prepare(write: Write, by: string): Row {
    checkKey(kinds, keyOfWrite(write))
    if (write.kind === 'delete') {
      const expected = write.expectedVersion === undefined ? null : toNumber(write.expectedVersion)
      return { write: { kind: 'delete', key: placeOf(write.key), expected }, chars: 0, replaces: undefined, toResource: undefined }
    }
    const given = write.kind === 'create' ? write.draft : write.resource
    const labels = toStoredValue(given.labels ?? {}, 'labels')
    const spec = toStoredValue(given.spec, 'spec')
    const status = given.status === undefined ? undefined : toStoredValue(given.status, 'status')
    const owner = write.kind === 'create' ? ownerOf(kinds, write.draft) : undefined
    const expected = write.kind === 'create' ? undefined : toNumber(write.resource.version)
    const present = expected === undefined ? undefined : reader.inVersion(given.key, expected)
    const key = placeOf(given.key)
    const at = clock.now()
    const version = writer.nextVersion()
    const shared = { key, version, at, writer: by, labels: labels.text, spec: spec.text, status: status?.text ?? null }
    return {
      write:
        expected === undefined
          ? { kind: 'create', ...shared, owner: owner === undefined ? null : placeOf(owner) }
          : { kind: 'update', ...shared, expected },
      chars: shared.labels.length + shared.spec.length + (shared.status?.length ?? 0),
      replaces: expected,
      toResource() {
        const ownedBy = present === undefined ? owner : present.owner
        return Object.freeze({
          key: present?.key ?? keyOf(key),
          ...contentOf({ labels, spec, status }),
          ...(ownedBy !== undefined && { owner: ownedBy }),
          version: String(version) as Version,
          writer: Object.freeze({ name: by, instance }),
          createdAt: present?.createdAt ?? at,
          modifiedAt: at,
        })
      },
    }
  }

  async function tellAll(): Promise<void> {
    // All jobs of a commit are answered in one turn: this one lets them come in.
    await Promise.resolve()
    let rows = 0
    for (let next = answered.shift(); next !== undefined; next = answered.shift()) {
      const { batch, answer } = next
      const changes: ResourceChange[] = []
      const results: WriteResult[] = []
      let index = 0
      for (const row of batch.rows) {
        results.push(row instanceof CoreError ? { ok: false, error: row } : tryToResult({ row, answer, index: index++ }, changes))
        if (++rows % ROWS_PER_TURN === 0) await yieldToEventLoop()
      }
      feed.publish(changes)
      batch.resolve(results)
    }
    telling = undefined
  }

  function tryToResult(rowAnswer: RowAnswer, changes: ResourceChange[]): WriteResult {
    try {
      return toResult(rowAnswer, changes)
    } catch (error) {
      return { ok: false, error: toCoreError(error) }
    }
  }

  function toResult({ row, answer, index }: RowAnswer, changes: ResourceChange[]): WriteResult {
    if (answer.kind === 'failed') return { ok: false, error: answer.error }
    const key = keyOf(row.write.key)
    const code = answer.outcomes[index] ?? -1
    switch (code) {
      case outcome.done: {
        if (row.replaces !== undefined) reader.forget(row.replaces)
        for (const [place, version] of answer.removedBy(index)) {
          reader.forget(version)
          changes.push({ kind: 'deleted', key: keyOf(place), version: String(version) as Version })
        }
        if (row.toResource === undefined) return { ok: true }
        const resource = row.toResource()
        reader.remember(resource, row.chars)
        changes.push({ kind: 'put', resource })
        return { ok: true, resource }
      }
      case outcome.notFound:
        return { ok: false, error: refusal.notFound(key) }
      case outcome.alreadyExists:
        return { ok: false, error: toLost(refusal.alreadyExists, key, answer.winnerOf(index)) }
      case outcome.ownerMissing:
        return {
          ok: false,
          error: refusal.ownerMissing(key, 'owner' in row.write && row.write.owner !== null ? keyOf(row.write.owner) : key),
        }
      case outcome.conflict:
        return { ok: false, error: toLost(refusal.conflict, key, answer.winnerOf(index)) }
      case outcome.rolledBack:
        return { ok: false, error: refusal.notInAtomicBatch(key) }
      default:
        return { ok: false, error: new CoreError('internal', `the writer answered ${code}`) }
    }
  }
}

/** One write, ready to cross, and what is stored by it if it is done. */
interface Row {
  readonly write: WorkerWrite
  /** The length of its text. */
  readonly chars: number
  /** The version that an update replaces. */
  readonly replaces: number | undefined
  /** undefined for a delete. */
  readonly toResource: (() => Resource) | undefined
}
interface Batch {
  /** What was refused before it was sent stands at its place. */
  readonly rows: readonly (Row | CoreError)[]
  readonly resolve: (results: readonly WriteResult[]) => void
}
interface RowAnswer {
  readonly row: Row
  readonly answer: JobAnswer
  /** Among the rows that were sent. */
  readonly index: number
}

function contentOf({
  labels,
  spec,
  status,
}: {
  readonly labels: StoredValue
  readonly spec: StoredValue
  readonly status: StoredValue | undefined
}) {
  return {
    labels: labels.value as Readonly<Record<string, string>>,
    spec: spec.value,
    ...(status !== undefined && { status: status.value }),
  }
}

/** A refusal that names who was faster. */
function toLost(refuse: (key: ResourceKey, lostTo: LostTo) => CoreError, key: ResourceKey, winner: Winner | undefined): CoreError {
  if (winner === undefined) return new CoreError('internal', 'a lost race was answered without its winner')
  const { version, writer, instance, at } = winner
  return refuse(key, { writer, instance, version: String(version) as Version, at, certainty: 'exact' })
}

/** Versions are only equal or not equal: what is not written as we write them is equal to none. */
function toNumber(version: Version): number {
  const number = Number(version)
  return String(number) === version && Number.isSafeInteger(number) ? number : -1
}

function keyOf([type, mesh, name]: Place): ResourceKey {
  return plainKey({ type, mesh, name })
}

function makeFolder(folder: string) {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new CoreError('unavailable', `the data folder ${folder} can't be made (${(error as Error).message}): use another --data-dir`, {
      cause: error,
    })
  }
}

async function openReader(
  path: string,
  { options, writer }: { readonly options: SqliteReaderOptions; readonly writer: SqliteWriter },
): Promise<SqliteReader> {
  try {
    return openSqliteReader(path, options)
  } catch (error) {
    await writer.close()
    throw new CoreError('unavailable', explainFault(error, path), { cause: error })
  }
}

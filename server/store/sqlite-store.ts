import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import type { Kinds } from '../model/kind.ts'
import {
  type KeyString,
  type LostTo,
  type Resource,
  type ResourceDraft,
  type ResourceKey,
  toKeyString,
  type Version,
} from '../model/resource.ts'
import { createChangeFeed } from './change-feed.ts'
import { deepFreeze, frozenCopy } from './freeze.ts'
import type { ListQuery, Page, ResourceChange, ResourceStore, StoreHealth, Write, WriteOptions, WriteResult } from './resource-store.ts'
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
} from './sqlite-worker-protocol.ts'
import { checkKey, comparePositions, fromCursor, keyOfWrite, kindOf, limitOf, refusal, toCursor } from './store-rules.ts'

export interface SqliteStoreDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly kinds: Kinds
  readonly instance: string
  readonly maxBacklog?: number
}

/** Rows one transaction carries at most; what waits beyond them goes with the next. */
const MAX_ROWS = 2_000
/** Last written or read resources kept at hand: this process is the file's only writer, so they are never out of date. */
const MAX_RECENT = 20_000

const FILE = 'tidewatch.db'
const LOCK_FILE = 'tidewatch.lock'

interface Waiting {
  readonly write: Write
  readonly writer: string
  /** Writes of one atomic batch share it. */
  readonly batch: symbol | undefined
  readonly answer: (result: WriteResult) => void
}

/**
 * Opens the store in a folder, making both if missing. Writes go to a worker thread; what is asked for while a commit is
 * under way goes with the next one, whoever asked, so a thousand single writes cost a few commits. Reads are answered here,
 * and see every write that was acknowledged.
 *
 * Throws `unavailable` with one line that names the file, what is wrong and what would help: in use by another process,
 * damaged, written by a newer version, not writable.
 */
export async function openSqliteStore(
  folder: string,
  { clock, kinds, instance, maxBacklog }: SqliteStoreDeps,
): Promise<ResourceStore & StoreHealth> {
  makeFolder(folder)
  const path = join(folder, FILE)
  const { worker, highestVersion: highestStored } = await startWorker({ path, lockPath: join(folder, LOCK_FILE) }, onAnswer)
  let highestVersion = highestStored
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  const feed = createChangeFeed(maxBacklog)
  const recent = new Map<KeyString, Resource>()
  const queries = new Map<string, ReturnType<DatabaseSync['prepare']>>()
  const waiting: Waiting[] = []
  let underWay: readonly (Waiting & { readonly prepared: Prepared })[] = []
  let problem: { readonly message: string; readonly since: number } | null = null
  let isClosing = false
  let idle: (() => void) | undefined

  return {
    async get<S>(key: ResourceKey, options: { readonly signal?: AbortSignal } = {}) {
      checkOpen(options.signal)
      checkKey(kinds, key)
      const found = recent.get(toKeyString(key)) ?? readOne(key)
      if (found === undefined) throw refusal.notFound(key)
      return found as Resource<S>
    },
    async list<S>(query: ListQuery, options: { readonly signal?: AbortSignal } = {}) {
      checkOpen(options.signal)
      return list<S>(query)
    },
    async create<S>(draft: ResourceDraft<S>, options: WriteOptions) {
      return (await one({ kind: 'create', draft }, options)) as Resource<S>
    },
    async update<S>(resource: Resource<S>, options: WriteOptions) {
      return (await one({ kind: 'update', resource }, options)) as Resource<S>
    },
    async delete(key, { expectedVersion, ...options }) {
      await one({ kind: 'delete', key, ...(expectedVersion !== undefined && { expectedVersion }) }, options)
    },
    writeBatch,
    changes(signal) {
      checkOpen(undefined)
      return feed.subscribe(signal)
    },
    problem: () => problem,
    async close() {
      if (isClosing) return
      isClosing = true
      if (underWay.length + waiting.length > 0) await new Promise<void>((resolve) => (idle = resolve))
      feed.close()
      reader.close()
      const ended = new Promise((resolve) => worker.once('exit', resolve))
      worker.postMessage('close')
      await ended
    },
  }

  function checkOpen(signal: AbortSignal | undefined) {
    if (isClosing) throw refusal.closed()
    if (signal?.aborted) throw new CoreError('aborted', 'the caller ended it', { cause: signal.reason })
  }

  // Writes

  async function one(write: Write, options: WriteOptions): Promise<Resource | undefined> {
    const [result] = await writeBatch([write], options)
    if (result === undefined) throw new CoreError('internal', 'a write was not answered')
    if (!result.ok) throw result.error
    return result.resource
  }

  async function writeBatch(
    writes: readonly Write[],
    options: WriteOptions & { readonly atomic?: boolean },
  ): Promise<readonly WriteResult[]> {
    checkOpen(options.signal)
    if (writes.length === 0) return []
    const batch = options.atomic === true ? Symbol('atomic') : undefined
    const results = Promise.all(
      writes.map((write) => new Promise<WriteResult>((answer) => waiting.push({ write, writer: options.writer, batch, answer }))),
    )
    // Not at once: what else this turn writes goes along.
    queueMicrotask(sendNext)
    return results
  }

  function sendNext() {
    if (underWay.length > 0 || waiting.length === 0) return
    const group = takeGroup()
    const sent: (Waiting & { readonly prepared: Prepared })[] = []
    const writes: WorkerWrite[] = []
    const atomic: [number, number][] = []
    for (let index = 0; index < group.length;) {
      const first = group[index]!
      const whole = first.batch === undefined ? [first] : group.slice(index).filter(({ batch }) => batch === first.batch)
      const prepared = whole.map((each) => tryPrepare(each))
      const refused = prepared.some((each) => each instanceof CoreError)
      const from = writes.length
      for (const [each, item] of whole.entries()) {
        const made = prepared[each]!
        if (made instanceof CoreError) item.answer({ ok: false, error: made })
        else if (first.batch !== undefined && refused) item.answer({ ok: false, error: refusal.notInAtomicBatch(keyOfWrite(item.write)) })
        else {
          sent.push({ ...item, prepared: made })
          writes.push(made.write)
        }
      }
      if (first.batch !== undefined && writes.length > from) atomic.push([from, writes.length])
      index += whole.length
    }
    if (sent.length === 0) return queueMicrotask(afterAnswer)
    underWay = sent
    const request: WorkerRequest = { instance, writes, atomic, highestVersion }
    worker.postMessage(request)
  }

  function takeGroup(): Waiting[] {
    let size = Math.min(waiting.length, MAX_ROWS)
    // An atomic batch is never cut in two.
    while (size < waiting.length && waiting[size]!.batch !== undefined && waiting[size]!.batch === waiting[size - 1]!.batch) size++
    return waiting.splice(0, size)
  }

  interface Prepared {
    readonly write: WorkerWrite
    /** What is stored if it is done; undefined for a delete. */
    readonly resource: Resource | undefined
  }

  function tryPrepare(item: Waiting): Prepared | CoreError {
    try {
      return prepare(item)
    } catch (error) {
      if (error instanceof CoreError) return error
      return new CoreError('invalid', `${keyOfWrite(item.write).name} can't be stored as JSON`, { cause: error })
    }
  }

  function prepare({ write, writer }: Waiting): Prepared {
    const kind = checkKey(kinds, keyOfWrite(write))
    if (write.kind === 'delete') {
      return {
        write: {
          kind: 'delete',
          key: placeOf(write.key),
          expected: write.expectedVersion === undefined ? null : Number(write.expectedVersion),
        },
        resource: undefined,
      }
    }
    const at = clock.now()
    const version = ++highestVersion
    const given = write.kind === 'create' ? write.draft : write.resource
    const shared = {
      key: placeOf(given.key),
      version,
      at,
      writer,
      labels: JSON.stringify(given.labels ?? {}),
      spec: JSON.stringify(given.spec ?? null),
      status: given.status === undefined ? null : JSON.stringify(given.status),
    }
    const stamped = { version: String(version) as Version, modifiedAt: at, writer: { name: writer, instance } }
    if (write.kind === 'update') {
      const resource = Object.freeze({ ...write.resource, ...frozenContent(write.resource), ...stamped })
      return { write: { kind: 'update', ...shared, expected: Number(write.resource.version) }, resource }
    }
    const owner = write.draft.owner ?? kind.ownerOf?.(write.draft.key)
    const resource: Resource = Object.freeze({
      key: deepFreeze({ ...write.draft.key }),
      ...frozenContent(write.draft),
      ...stamped,
      createdAt: at,
      ...(owner !== undefined && { owner: deepFreeze({ ...owner }) }),
    })
    return { write: { kind: 'create', ...shared, owner: owner === undefined ? null : placeOf(owner) }, resource }
  }

  function onAnswer(message: WorkerAnswer) {
    const answered = underWay
    underWay = []
    if (message.kind === 'committed') {
      problem = null
      publish(answered, message)
    } else if (message.kind === 'failed') {
      problem ??= { message: message.message, since: clock.now() }
      // Nothing of it was written, so writing it again is safe.
      const error = new CoreError('unavailable', message.message, { safeToRetry: true })
      for (const { answer } of answered) answer({ ok: false, error })
    }
    afterAnswer()
  }

  function afterAnswer() {
    sendNext()
    if (underWay.length === 0 && waiting.length === 0) idle?.()
  }

  function publish(answered: typeof underWay, { outcomes, winners, deleted }: WorkerAnswer & { kind: 'committed' }) {
    const changes: ResourceChange[] = []
    const results = answered.map(({ write, prepared: { resource } }, index): WriteResult => {
      const outcome = outcomes[index]
      const key = keyOfWrite(write)
      // Anything but the outcomes of the protocol is the default.
      // oxlint-disable-next-line typescript/switch-exhaustiveness-check
      switch (outcome) {
        case DONE:
          if (resource === undefined) {
            for (const [place, version] of deleted.get(index) ?? []) {
              const gone = keyOf(place)
              recent.delete(toKeyString(gone))
              changes.push({ kind: 'deleted', key: gone, version: String(version) as Version })
            }
            return { ok: true }
          }
          remember(resource)
          changes.push({ kind: 'put', resource })
          return { ok: true, resource }
        case NOT_FOUND:
          return { ok: false, error: refusal.notFound(key) }
        case ALREADY_EXISTS:
          return { ok: false, error: refusal.alreadyExists(key) }
        case OWNER_MISSING:
          return { ok: false, error: refusal.ownerMissing(key, ownerOf(write)) }
        case CONFLICT:
          return { ok: false, error: refusal.conflict(key, lostToOf(winners.get(index))) }
        case ROLLED_BACK:
          return { ok: false, error: refusal.notInAtomicBatch(key) }
        default:
          return { ok: false, error: new CoreError('internal', `the writer answered ${outcome}`) }
      }
    })
    feed.publish(changes)
    for (const [index, { answer }] of answered.entries()) answer(results[index]!)
  }

  function lostToOf(
    winner: { readonly version: number; readonly writer: string; readonly instance: string; readonly at: number } | undefined,
  ): LostTo {
    return {
      writer: winner?.writer ?? 'unknown',
      instance: winner?.instance ?? 'unknown',
      version: String(winner?.version ?? 0) as Version,
      at: winner?.at ?? 0,
      certainty: 'exact',
    }
  }

  function ownerOf(write: Write): ResourceKey {
    const key = keyOfWrite(write)
    return (write.kind === 'create' ? write.draft.owner : undefined) ?? kindOf(kinds, key.type).ownerOf?.(key) ?? key
  }

  function remember(resource: Resource) {
    const id = toKeyString(resource.key)
    recent.delete(id)
    recent.set(id, resource)
    if (recent.size > MAX_RECENT) recent.delete(recent.keys().next().value!)
  }

  // Reads

  function list<S>(query: ListQuery): Page<Resource<S>> {
    kindOf(kinds, query.type)
    const limit = limitOf(query)
    const conditions = ['r.type = ?']
    const values: SQLInputValue[] = [query.type]
    if (query.keys !== undefined) return listKeys<S>({ ...query, keys: query.keys, limit })
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
    const rows = queryOf(`${SELECT} WHERE ${conditions.join(' AND ')} ORDER BY r.mesh, r.name LIMIT ?`).all(...values, limit + 1)
    return toPage(
      rows.map((row) => toResource(row) as Resource<S>),
      limit,
    )
  }

  function listKeys<S>(query: ListQuery & { readonly keys: readonly ResourceKey[]; readonly limit: number }): Page<Resource<S>> {
    const after = query.cursor === undefined ? undefined : fromCursor(query.cursor)
    const wanted = query.keys
      .filter(({ type, mesh }) => type === query.type && (query.mesh === undefined || mesh === query.mesh))
      .toSorted(comparePositions)
      .filter((key) => after === undefined || comparePositions(key, after) > 0)
    const items: Resource<S>[] = []
    for (const key of wanted) {
      const found = recent.get(toKeyString(key)) ?? readOne(key)
      if (found === undefined || !Object.entries(query.labels ?? {}).every(([label, value]) => found.labels[label] === value)) continue
      items.push(found as Resource<S>)
      if (items.length > query.limit) break
    }
    return toPage(items, query.limit)
  }

  function readOne(key: ResourceKey): Resource | undefined {
    const row = queryOf(`${SELECT} WHERE r.type = ? AND r.mesh = ? AND r.name = ?`).get(...placeOf(key))
    if (row === undefined) return undefined
    const resource = toResource(row)
    remember(resource)
    return resource
  }

  function queryOf(sql: string) {
    const known = queries.get(sql)
    if (known !== undefined) return known
    const statement = reader.prepare(sql)
    queries.set(sql, statement)
    return statement
  }
}

const SELECT = `SELECT r.type, r.mesh, r.name, r.version, r.created_at, r.modified_at, r.writer, r.instance, r.labels, r.spec, r.status,
  o.type AS owner_type, o.mesh AS owner_mesh, o.name AS owner_name FROM resources r LEFT JOIN resources o ON o.id = r.owner_id`

interface Row {
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
  readonly owner_type: string | null
  readonly owner_mesh: string
  readonly owner_name: string
}

function toResource(found: Readonly<Record<string, unknown>>): Resource {
  // A STRICT table with this SELECT gives rows of this shape and no other.
  const row = found as unknown as Row
  return deepFreeze({
    key: { type: row.type, mesh: row.mesh, name: row.name },
    version: String(row.version) as Version,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
    labels: JSON.parse(row.labels) as Readonly<Record<string, string>>,
    writer: { name: row.writer, instance: row.instance },
    spec: JSON.parse(row.spec) as unknown,
    ...(row.status !== null && { status: JSON.parse(row.status) as unknown }),
    ...(row.owner_type !== null && { owner: { type: row.owner_type, mesh: row.owner_mesh, name: row.owner_name } }),
  })
}

function toPage<S>(found: readonly Resource<S>[], limit: number): Page<Resource<S>> {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return found.length > limit && last !== undefined ? { items, nextCursor: toCursor(last.key) } : { items }
}

function frozenContent({ labels, spec, status }: Pick<ResourceDraft, 'labels' | 'spec' | 'status'>) {
  return { labels: frozenCopy(labels ?? {}), spec: frozenCopy(spec), ...(status !== undefined && { status: frozenCopy(status) }) }
}

function placeOf({ type, mesh, name }: ResourceKey): Place {
  return [type, mesh, name]
}

function keyOf([type, mesh, name]: Place): ResourceKey {
  return { type, mesh, name }
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

/** Resolves when the worker has the file open; from then on `onAnswer` hears it, and hears `failed` if it ends by itself. */
async function startWorker(
  options: WorkerOptions,
  onAnswer: (answer: WorkerAnswer) => void,
): Promise<{ readonly worker: Worker; readonly highestVersion: number }> {
  const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData: options })
  const first = Promise.withResolvers<WorkerAnswer>()
  let hear: (answer: WorkerAnswer) => void = first.resolve
  worker.on('message', (answer: WorkerAnswer) => hear(answer))
  worker.on('error', (error) => hear({ kind: 'failed', message: `the writer of ${options.path} ended: ${(error as Error).message}` }))
  const opened = await first.promise
  if (opened.kind === 'ready') {
    hear = onAnswer
    return { worker, highestVersion: opened.highestVersion }
  }
  await worker.terminate()
  throw new CoreError('unavailable', 'message' in opened ? opened.message : `${options.path} can't be used`)
}

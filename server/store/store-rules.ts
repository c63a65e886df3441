import { CoreError } from '../lib/errors.ts'
import type { Kind, Kinds } from '../model/kind.ts'
import {
  formatKey,
  type KeyString,
  type LostTo,
  type Resource,
  type ResourceDraft,
  type ResourceKey,
  toKeyString,
} from '../model/resource.ts'
import type { ListQuery, Page, ReadOptions, Write } from './resource-store.ts'

/** The rules every adapter shares: which keys, queries and cursors are valid, and how refusals are worded. */

const NAME_LENGTH = 253
// oxlint-disable-next-line no-control-regex -- control characters are what this refuses
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000

export function kindOf(kinds: Kinds, type: string): Kind {
  const kind = kinds.get(type)
  if (kind === undefined)
    throw new CoreError('invalid', `there is no resource type "${type}"; known: ${[...kinds.keys()].join(', ')}`, { details: { type } })
  return kind
}

/** Throws `invalid` unless it is the key of a known type, as its scope wants it. */
export function checkKey(kinds: Kinds, key: ResourceKey): Kind {
  const kind = kindOf(kinds, key.type)
  checkName('name', key.name)
  if (kind.scope === 'global' && key.mesh !== '')
    throw new CoreError('invalid', `${key.type} has no mesh, but "${key.mesh}" was given`, { details: { key } })
  if (kind.scope === 'mesh') checkName('mesh', key.mesh)
  return kind
}

/** Whom a new resource belongs to: whom its creator says, else whom its kind says. */
export function ownerOf(kinds: Kinds, { key, owner }: Pick<ResourceDraft, 'key' | 'owner'>): ResourceKey | undefined {
  if (owner === undefined) return kindOf(kinds, key.type).ownerOf?.(key)
  checkKey(kinds, owner)
  return plainKey(owner)
}

/** A frozen key with nothing else in it. */
export function plainKey({ type, mesh, name }: ResourceKey): ResourceKey {
  return Object.freeze({ type, mesh, name })
}

function checkName(what: string, text: string) {
  // Two names with broken surrogates could become one in UTF-8.
  if (text.length >= 1 && text.length <= NAME_LENGTH && !CONTROL.test(text) && text.isWellFormed()) return
  const shown = JSON.stringify(text.slice(0, 80))
  throw new CoreError('invalid', `a ${what} has 1 to ${NAME_LENGTH} characters and no control characters; ${shown} does not`, {
    details: { [what]: text.slice(0, 80) },
  })
}

export function checkOpen(isClosed: boolean, { signal }: ReadOptions): void {
  if (isClosed) throw refusal.closed()
  if (signal?.aborted) throw refusal.aborted(signal)
}

export function limitOf(query: ListQuery): number {
  const limit = query.limit ?? DEFAULT_LIMIT
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new CoreError('invalid', `limit must be a whole number from 1 to ${MAX_LIMIT}, not ${limit}`, { details: { limit } })
  if (query.keys !== undefined && query.keys.length > MAX_LIMIT)
    throw new CoreError('invalid', `at most ${MAX_LIMIT} keys at once, not ${query.keys.length}`, { details: { keys: query.keys.length } })
  return limit
}

export interface Position {
  readonly mesh: string
  readonly name: string
}

/** A cursor is opaque to callers: the position of the last item of the page before. */
function toCursor({ mesh, name }: Position): string {
  return Buffer.from(`${mesh}\0${name}`).toString('base64url')
}

export function fromCursor(cursor: string): Position {
  const [mesh, name, ...rest] = Buffer.from(cursor, 'base64url').toString().split('\0')
  if (mesh === undefined || name === undefined || rest.length > 0)
    throw new CoreError('invalid', 'that cursor is not one of ours: take nextCursor of the page before', {
      details: { cursor: cursor.slice(0, 80) },
    })
  return { mesh, name }
}

export const refusal = {
  notFound: (key: ResourceKey) => new CoreError('not_found', `${formatKey(key)} is not there`, { details: { key } }),
  alreadyExists: (key: ResourceKey, lostTo: LostTo) =>
    new CoreError('already_exists', `${formatKey(key)} is there already`, { details: { key, lostTo } }),
  ownerMissing: (key: ResourceKey, owner: ResourceKey) =>
    new CoreError('owner_missing', `${formatKey(key)} belongs to ${formatKey(owner)}, which is not there`, { details: { key, owner } }),
  conflict: (key: ResourceKey, lostTo: LostTo) =>
    new CoreError('conflict', `${formatKey(key)} was written by ${lostTo.writer} since it was read`, { details: { key, lostTo } }),
  aborted: (signal: AbortSignal) => new CoreError('aborted', 'its caller ended it', { cause: signal.reason }),
  closed: () => new CoreError('unavailable', 'the store is closed'),
  notInAtomicBatch: (key: ResourceKey) =>
    new CoreError('aborted', `${formatKey(key)} was not written, since another write of its atomic batch failed`, { details: { key } }),
}

export function lostToOf({ writer, version, modifiedAt }: Resource): LostTo {
  return { writer: writer.name, instance: writer.instance, version, at: modifiedAt, certainty: 'exact' }
}

export function keyOfWrite(write: Write): ResourceKey {
  if (write.kind === 'create') return write.draft.key
  return write.kind === 'update' ? write.resource.key : write.key
}

/** The keys of a query that can be answers to it, each once, in order, from its cursor on. */
export function wantedKeys(query: ListQuery & { readonly keys: readonly ResourceKey[] }): readonly ResourceKey[] {
  const after = query.cursor === undefined ? undefined : fromCursor(query.cursor)
  const wanted = new Map<KeyString, ResourceKey>()
  for (const key of query.keys) {
    if (key.type !== query.type || (query.mesh !== undefined && key.mesh !== query.mesh)) continue
    if (after === undefined || comparePositions(key, after) > 0) wanted.set(toKeyString(key), key)
  }
  return [...wanted.values()].sort(comparePositions)
}

export function hasLabels({ labels }: Pick<Resource, 'labels'>, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([label, value]) => Object.hasOwn(labels, label) && labels[label] === value)
}

/** `found` has up to one more than the page may hold: that one says that there is a next page. */
export function toPage<S>(found: readonly Resource[], limit: number): Page<Resource<S>> {
  const items = found.slice(0, limit) as Resource<S>[]
  const last = items.at(-1)
  return found.length > limit && last !== undefined ? { items, nextCursor: toCursor(last.key) } : { items }
}

/** By code unit: SQLite's binary order for all but astral characters; that it is stable is what counts. */
export function comparePositions(a: Position, b: Position): number {
  return compareText(a.mesh, b.mesh) || compareText(a.name, b.name)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

import { CoreError, isCoreError } from '../lib/errors.ts'
import type { DataplaneInsight } from '../model/insight.ts'
import { formatKey, isSameKey, type ResourceKey, toKeyString } from '../model/resource.ts'
import type { InsightDetail, InsightFilter, InsightRow } from '../model/views.ts'
import { whyLate } from '../model/why-late.ts'
import type { ControlPlane } from '../runtime/control-plane.ts'
import type { InsightBoard } from '../sinks/insight-board.ts'

export interface InsightPage {
  readonly now: number
  readonly items: readonly InsightRow[]
  /** Null on the last page. */
  readonly nextCursor: string | null
  /** Rows that match, on all pages. */
  readonly total: number
}

export interface PageQuery extends InsightFilter {
  readonly cursor?: string | undefined
  readonly limit: number
}

/** One page of the board, after the row the cursor names. */
export function insightPage(board: InsightBoard, { cursor, limit, ...filter }: PageQuery): Omit<InsightPage, 'now'> {
  const sort = filter.sort ?? 'name'
  const { keys } = board.order({ ...filter, sort })
  const start = cursor === undefined ? 0 : positionAfter(keys, parseCursor(cursor), sort === 'name')
  const onPage = keys.slice(start, start + limit)
  const last = onPage.at(-1)
  const isMore = last !== undefined && start + onPage.length < keys.length
  return {
    items: board.rows(onPage),
    nextCursor: isMore ? formatCursor({ key: last, next: start + onPage.length }) : null,
    total: keys.length,
  }
}

/** All that is known of one insight, and in one sentence why it is as late as it is. */
export async function insightDetail(controlPlane: ControlPlane, key: ResourceKey): Promise<{ readonly now: number } & InsightDetail> {
  const { board, store, conflicts, clock } = controlPlane
  const observed = board.observed(key)
  const spec = observed === undefined ? await storedSpec(store, key) : undefined
  const [row] = board.rows([key])
  if (row === undefined) throw new CoreError('not_found', `there is no ${formatKey(key)}`, { details: { key } })
  const now = clock.now()
  const facts = {
    row,
    subscriptions: observed?.subscriptions ?? spec?.subscriptions ?? [],
    mtls: spec?.mtls ?? null,
    writes: observed?.writes ?? conflicts.of(key).writes,
    note: observed?.note ?? null,
    content: observed?.content ?? (spec === undefined || spec.subscriptions !== undefined ? null : spec),
    settings: observed?.settings ?? [],
    nextFlushAt: controlPlane.nextFlushAt(key),
  }
  return { now, ...facts, why: whyLate({ ...facts, storeProblem: controlPlane.counters().storeProblem }, now) }
}

/** Undefined while the board knows the insight and its first write is still under way. */
async function storedSpec(store: ControlPlane['store'], key: ResourceKey): Promise<Partial<DataplaneInsight> | undefined> {
  try {
    return (await store.get<Partial<DataplaneInsight>>(key)).spec
  } catch (error) {
    if (isCoreError(error, 'not_found')) return undefined
    throw error
  }
}

/** The last row of a page, and where the next page began then, for when that row is gone. */
interface Cursor {
  readonly key: ResourceKey
  readonly next: number
}

function formatCursor({ key, next }: Cursor): string {
  return Buffer.from(JSON.stringify([key.type, key.mesh, key.name, next])).toString('base64url')
}

function parseCursor(text: string): Cursor {
  const invalid = new CoreError('invalid', 'cursor: not one that insights.list gave')
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    throw invalid
  }
  if (!Array.isArray(parts)) throw invalid
  const [type, mesh, name, next] = parts as readonly unknown[]
  if (typeof type !== 'string' || typeof mesh !== 'string' || typeof name !== 'string' || !Number.isSafeInteger(next)) throw invalid
  return { key: { type, mesh, name }, next: Math.max(0, next as number) }
}

function positionAfter(keys: readonly ResourceKey[], { key, next }: Cursor, isByName: boolean): number {
  const same = keys.findIndex((other) => isSameKey(other, key))
  if (same !== -1) return same + 1
  if (!isByName) return next
  const id = toKeyString(key)
  const after = keys.findIndex((other) => toKeyString(other) > id)
  return after === -1 ? keys.length : after
}

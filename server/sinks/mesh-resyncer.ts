import type { Clock, Timer } from '../lib/clock.ts'
import { isCoreError, toCoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { Kinds } from '../model/kind.ts'
import type { MeshInsight } from '../model/mesh-insight.ts'
import type { ResourceKey } from '../model/resource.ts'
import type { SinkRow } from '../model/views.ts'
import type { Settings } from '../settings/settings.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { Upsert } from '../store/upsert.ts'
import type { InsightBoard } from './insight-board.ts'
import { createMeshCensus } from './mesh-census.ts'
import { createSinkStatistics, type FlushResult } from './sink-statistics.ts'

/**
 * Writes MeshInsights: what changes in a mesh marks it, and it is written at most once per `sink.mesh.minResyncMs`; every
 * `sink.mesh.fullResyncMs` all are, changed or not, so that one that nobody looks at any more is told by its generation. A conflict is
 * left for the next tick: fresher state is coming.
 */
export interface MeshResyncer {
  row(): SinkRow
  run(signal: AbortSignal): Promise<void>
  size(): number
}

export interface MeshResyncerDeps {
  readonly clock: Clock
  readonly store: Pick<ResourceStore, 'list' | 'changes'>
  readonly upsert: Upsert
  readonly settings: Pick<Settings, 'tunable' | 'get'>
  readonly kinds: Kinds
  readonly board: Pick<InsightBoard, 'setPending'>
  readonly onFlushed: (result: FlushResult) => void
  readonly onLag: (seconds: number) => void
  readonly onError: (what: string, error: unknown) => void
}

const WRITER = 'mesh-resyncer'
const PAGE = 1000

export function createMeshResyncer(deps: MeshResyncerDeps): MeshResyncer {
  const { clock, store, settings, kinds, board, onError } = deps
  const minMs: Tunable<number> = settings.tunable('sink.mesh.minResyncMs')
  const fullMs: Tunable<number> = settings.tunable('sink.mesh.fullResyncMs')
  const census = createMeshCensus()
  const statistics = createSinkStatistics(() => clock.monotonic())
  /** Monotonic moment of the first change that is not written, by mesh. */
  const dirty = new Map<string, number>()
  let lastAt = -Infinity
  let lastFullAt = -Infinity
  let timer: Timer | undefined
  let wake: (() => void) | undefined
  let lastError: SinkRow['lastError'] = null
  let adopted = { version: settings.get('sink.mesh.minResyncMs').version, at: clock.now() }

  return {
    size: census.size,
    row() {
      const { version, modifiedAt } = settings.get('sink.mesh.minResyncMs')
      if (version !== adopted.version) adopted = { version, at: Math.max(adopted.at, modifiedAt ?? 0) }
      const due = dueAt()
      return {
        name: 'mesh',
        intervalMs: minMs.get(),
        backoffMs: 0,
        sessions: census.meshes().length,
        nextFlushAt: due === Infinity ? null : Math.round(clock.now() + Math.max(0, due - clock.monotonic())),
        adopted,
        lastError,
        ...statistics.snapshot(),
      }
    },
    async run(signal) {
      for (const tunable of [minMs, fullMs]) tunable.watch(() => arm(), signal)
      const changes = store.changes(signal)
      await readAll(signal)
      await Promise.all([follow(changes, signal), flushAll(signal)])
      timer?.cancel()
    },
  }

  async function follow(changes: ReturnType<typeof store.changes>, signal: AbortSignal) {
    for await (const change of changes) {
      if (change.kind === 'resync') await readAll(signal)
      else mark(change.kind === 'put' ? census.put(change.resource) : census.remove(change.key))
    }
  }

  async function readAll(signal: AbortSignal) {
    census.clear()
    const types = [...kinds.values()]
      .filter(({ type, scope }) => type === 'Mesh' || (scope === 'mesh' && type !== 'Setting'))
      .map(({ type }) => type)
    for (const type of types) {
      let cursor: string | undefined
      do {
        const page = await store.list({ type, limit: PAGE, ...(cursor !== undefined && { cursor }) }, { signal })
        for (const resource of page.items) census.put(resource)
        cursor = page.nextCursor
      } while (cursor !== undefined)
    }
    mark(census.meshes())
  }

  function mark(meshes: readonly string[]) {
    const now = clock.monotonic()
    const known = new Set(meshes.length === 0 ? [] : census.meshes())
    for (const mesh of meshes) {
      if (!known.has(mesh) || dirty.has(mesh)) continue
      dirty.set(mesh, now)
      board.setPending(keyOf(mesh), clock.now())
    }
    if (meshes.length > 0) arm()
  }

  function dueAt(): number {
    const full = census.meshes().length === 0 ? Infinity : lastFullAt + fullMs.get()
    return dirty.size === 0 ? full : Math.min(full, lastAt + minMs.get())
  }

  function arm() {
    timer?.cancel()
    const due = dueAt()
    timer = due === Infinity ? undefined : clock.at(Math.max(due, clock.monotonic()), () => wake?.())
  }

  async function flushAll(signal: AbortSignal) {
    while (!signal.aborted) {
      if (dueAt() > clock.monotonic()) await untilWoken(signal)
      if (signal.aborted) return
      if (dueAt() > clock.monotonic()) continue
      const isFull = lastFullAt + fullMs.get() <= clock.monotonic()
      lastAt = clock.monotonic()
      if (isFull) lastFullAt = lastAt
      const meshes = isFull ? census.meshes() : [...dirty.keys()]
      await Promise.all(meshes.map((mesh) => flush(mesh, isFull, signal)))
      arm()
    }
  }

  async function flush(mesh: string, isFull: boolean, signal: AbortSignal): Promise<void> {
    const since = dirty.get(mesh)
    dirty.delete(mesh)
    const counts = census.count(mesh)
    try {
      const { outcome } = await deps.upsert<MeshInsight>(
        keyOf(mesh),
        (present) => ({ ...counts, generation: (present?.spec.generation ?? 0) + (isFull || present === undefined ? 1 : 0) }),
        { writer: WRITER, signal },
      )
      count(outcome === 'unchanged' ? 'unchanged' : 'written')
      lastError = null
      if (!dirty.has(mesh)) board.setPending(keyOf(mesh), null)
      if (since === undefined || outcome === 'unchanged') return
      const lagMs = clock.monotonic() - since
      statistics.lag(lagMs)
      deps.onLag(lagMs / 1000)
    } catch (error) {
      if (signal.aborted) return
      onRefused(mesh, since ?? clock.monotonic(), error)
    }
  }

  function onRefused(mesh: string, since: number, error: unknown) {
    const { code, message } = toCoreError(error)
    // The mesh went, and its insight with it.
    if (code === 'owner_missing') {
      count('dropped')
      board.setPending(keyOf(mesh), null)
      return
    }
    dirty.set(mesh, Math.min(since, dirty.get(mesh) ?? since))
    const isConflict = isCoreError(error, 'conflict') || isCoreError(error, 'already_exists') || isCoreError(error, 'not_found')
    count(isConflict ? 'conflict' : 'error')
    if (isConflict) return
    if (lastError === null) onError(`write the insight of mesh ${mesh}`, error)
    lastError = { message, at: clock.now() }
  }

  function count(result: FlushResult) {
    statistics.count(result)
    deps.onFlushed(result)
  }

  async function untilWoken(signal: AbortSignal): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    wake = () => waiting.resolve()
    signal.addEventListener('abort', wake, { once: true })
    if (signal.aborted) waiting.resolve()
    arm()
    await waiting.promise
    signal.removeEventListener('abort', wake)
    wake = undefined
  }
}

function keyOf(mesh: string): ResourceKey {
  return { type: 'MeshInsight', mesh: '', name: mesh }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createSystemClock } from '../../server/lib/clock.ts'
import { deepFreeze } from '../../server/lib/deep-freeze.ts'
import type { DataplaneInsight, Subscription } from '../../server/model/insight.ts'
import { loadKinds } from '../../server/model/load-kinds.ts'
import type { ResourceKey } from '../../server/model/resource.ts'
import { mergeInsight } from '../../server/sinks/insight-merge.ts'
import type { ResourceStore, Write } from '../../server/store/resource-store.ts'
import { openSqliteStore } from '../../server/store/sqlite-store.ts'

export const MERGE = { isHeartbeatDue: false, keep: 2 }
export const clock = createSystemClock()
const kinds = await loadKinds()

/** So many insights of 1.5 KB, in a store of ours on disk. */
export interface InsightsOnDisk {
  readonly store: ResourceStore
  readonly keys: readonly ResourceKey[]
  close(): Promise<void>
}

export const keyOf = (index: number): ResourceKey => ({
  type: 'DataplaneInsight',
  mesh: 'default',
  name: `dp-${String(index).padStart(6, '0')}`,
})

/** As a discovery session gives them: frozen, so that a store keeps them as they are. */
const types = deepFreeze(
  Object.fromEntries(
    ['CDS', 'EDS', 'LDS', 'RDS', 'SDS'].map((type) => [
      type,
      {
        sent: 12,
        acked: 11,
        nacked: 1,
        lastAt: 1_796_140_000_000,
        recovered: {
          reason:
            'a listener was not to its liking, for a reason that is as long and as tiresome to read as they are when an Envoy says why',
          since: 1_796_140_000_000,
          until: 1_796_140_000_000,
          times: 1,
        },
      },
    ]),
  ),
)
/** About 1.5 KB as JSON. */
export const subscriptionOf = (index: number, generation: number): Subscription => ({
  id: `subscription-${index}`,
  instance: '00000000-0000-4000-8000-000000000000',
  variant: 'delta',
  connectedAt: 1_796_140_000_000,
  generation,
  types,
  agent: 'envoy 1.40.0',
})

export async function openInsights(count: number): Promise<InsightsOnDisk> {
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-bench-'))
  const store = await openSqliteStore(folder, { clock, kinds, instance: 'bench' })
  const by = { writer: 'bench' }
  await store.create({ key: { type: 'Mesh', mesh: '', name: 'default' }, spec: {} }, by)
  const keys = Array.from({ length: count }, (_, index) => keyOf(index))
  for (let start = 0; start < count; start += 500) {
    const part = keys.slice(start, start + 500)
    const planes = part.map(({ name }): Write => ({
      kind: 'create',
      draft: { key: { type: 'Dataplane', mesh: 'default', name }, spec: { networking: { address: '10.0.0.1' } } },
    }))
    const insights = part.map((key, index): Write => ({
      kind: 'create',
      draft: { key, spec: { subscriptions: [subscriptionOf(start + index, 1)] } },
    }))
    await store.writeBatch(planes, by)
    await store.writeBatch(insights, by)
  }
  return {
    store,
    keys,
    async close() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What is done today: a table of the same rows, and for each session a transaction that reads its insight, merges and writes the new content. */
export interface OneByOne {
  flush(name: string, subscription: Subscription): void
  /** All of them in one transaction per 500, with nothing read, merged, encoded or checked: what SQLite itself takes. Returns ms. */
  bareSweep(order: readonly number[]): number
  generations(): number
  close(): void
}

export function openOneByOne(count: number): OneByOne {
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-bench-'))
  const database = new DatabaseSync(join(folder, 'one-by-one.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(
    'CREATE TABLE insights (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, spec TEXT NOT NULL) STRICT',
  )
  const insert = database.prepare('INSERT INTO insights (name, version, spec) VALUES (?, 1, ?)')
  database.exec('BEGIN')
  for (let index = 0; index < count; index++) insert.run(keyOf(index).name, JSON.stringify({ subscriptions: [subscriptionOf(index, 1)] }))
  database.exec('COMMIT')
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const read = database.prepare('SELECT version, spec FROM insights WHERE name = ?')
  const write = database.prepare('UPDATE insights SET version = version + 1, spec = ? WHERE name = ? AND version = ?')
  const sum = database.prepare('SELECT SUM(version) AS sum FROM insights')
  return {
    flush(name, subscription) {
      begin.run()
      const { version, spec } = read.get(name) as { readonly version: number; readonly spec: string }
      const merged = mergeInsight(JSON.parse(spec) as DataplaneInsight, [{ subscription, isNew: false }], MERGE)
      write.run(JSON.stringify(merged), name, version)
      commit.run()
    },
    bareSweep(order) {
      const spec = JSON.stringify({ subscriptions: [subscriptionOf(0, 1)] })
      const rows = order.map((index) => {
        const { name } = keyOf(index)
        return { name, version: (read.get(name) as { readonly version: number }).version }
      })
      const start = clock.monotonic()
      for (let from = 0; from < rows.length; from += 500) {
        begin.run()
        for (const { name, version } of rows.slice(from, from + 500)) write.run(spec, name, version)
        commit.run()
      }
      return clock.monotonic() - start
    },
    generations: () => (sum.get() as { readonly sum: number }).sum,
    close() {
      database.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

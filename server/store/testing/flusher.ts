// Flushes batches as fast as it can and says on stdout what was acknowledged, or why it was not. Ends when killed: that is what it is for.
import { createSystemClock } from '../../lib/clock.ts'
import type { Resource } from '../../model/resource.ts'
import type { Write } from '../resource-store.ts'
import { openSqliteStore } from '../sqlite-store.ts'
import { contractKinds } from './contract-kinds.ts'

const ROWS = 200
const writer = { writer: 'flusher' }

const store = await openSqliteStore(process.argv[2]!, { clock: createSystemClock(), kinds: contractKinds, instance: 'flusher' })
await store.create({ key: { type: 'Parent', mesh: '', name: 'm' }, spec: {} }, writer).catch(() => undefined)

const keys = Array.from({ length: ROWS }, (_, index) => ({ type: 'Child', mesh: 'm', name: `c${index}` }))
const present = new Map((await store.list({ type: 'Child', limit: 1000 })).items.map((resource) => [resource.key.name, resource]))
for (let round = Math.max(0, ...[...present.values()].map(({ spec }) => (spec as { round: number }).round)) + 1; ; round++) {
  const spec = { round, padding: 'x'.repeat(1_400) }
  const writes = keys.map((key): Write => {
    const known = present.get(key.name)
    return known === undefined ? { kind: 'create', draft: { key, spec } } : { kind: 'update', resource: { ...known, spec } }
  })
  const results = await store.writeBatch(writes, writer)
  const stored = results.flatMap((result): Resource[] => (result.ok && result.resource !== undefined ? [result.resource] : []))
  for (const resource of stored) present.set(resource.key.name, resource)
  const refused = results.find((result) => !result.ok)
  if (refused !== undefined) process.stdout.write(`${refused.error.code}: ${refused.error.message}\n`)
  else process.stdout.write(`${JSON.stringify(stored.map(({ key, version }) => ({ name: key.name, version: Number(version), round })))}\n`)
}

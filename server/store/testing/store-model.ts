import fc from 'fast-check'
import { expect } from 'vitest'
import { isSameKey, type KeyString, type ResourceKey, toKeyString, type Version } from '../../model/resource.ts'
import type { ResourceChange, ResourceStore, Write } from '../resource-store.ts'
import { keyOfWrite } from '../store-rules.ts'
import { contractKeys, contractKinds } from './contract-kinds.ts'

const MODEL_KEYS = ['a', 'b'].flatMap((mesh) => [
  contractKeys.parent(mesh),
  ...['x', 'y'].flatMap((name) => [contractKeys.child(name, mesh), contractKeys.grandchild(name, mesh)]),
])

interface ModelCommand {
  readonly kind: string
  readonly at: number
  /** Whether it names a version that is not current. */
  readonly isStale: boolean
}
interface ModelBatch {
  readonly commands: readonly ModelCommand[]
  readonly atomic: boolean
}
/** A version not known yet stands as the number of the write that makes it. */
interface ModelEntry {
  readonly key: ResourceKey
  readonly version: string | number
}

/** Batches of commands on a few keys, so that they meet often. */
export function modelBatches({ atomic }: { readonly atomic: boolean }): fc.Arbitrary<readonly ModelBatch[]> {
  const command = fc.record({
    kind: fc.constantFrom('create', 'update', 'delete', 'delete unlocked'),
    at: fc.nat(MODEL_KEYS.length - 1),
    isStale: fc.nat(3).map((n) => n === 0),
  })
  const commands = fc.array(command, { minLength: 1, maxLength: 6 })
  return fc.array(fc.record({ commands, atomic: atomic ? fc.boolean() : fc.constant(false) }), { maxLength: 12 })
}

/** The store answers each command as the model does, holds the same in the end, and its changes lead there too. */
export async function expectAgreement(store: ResourceStore, batches: readonly ModelBatch[]): Promise<void> {
  let model = new Map<KeyString, ModelEntry>()
  const versions = new Set<string>()
  const ending = new AbortController()
  const replica = followChanges(store, ending.signal)
  for (const { commands, atomic } of batches) {
    const writes = commands.map((command) => toWrite(command, model))
    const expected = new Map(model)
    const codes = writes.map((write, index) => applyToModel(expected, write, index))
    const isUndone = atomic && codes.some((code) => code !== 'ok')
    const results = await store.writeBatch(writes, { writer: 'model', atomic })
    expect(results.map((result) => (result.ok ? 'ok' : result.error.code))).toEqual(
      isUndone ? codes.map((code) => (code === 'ok' ? 'aborted' : code)) : codes,
    )
    if (isUndone) continue
    model = expected
    for (const [id, { key, version }] of model) {
      if (typeof version === 'string') continue
      const result = results[version]
      const made = result?.ok === true ? result.resource?.version : undefined
      expect(made !== undefined && !versions.has(made)).toBe(true)
      versions.add(made!)
      model.set(id, { key, version: made! })
    }
  }
  const stored = await everything(store)
  const wanted = [...model].map(([id, { version }]) => [id, version] as const).toSorted(byId)
  expect(stored).toEqual(wanted)
  expect(await replica.until(wanted)).toEqual(wanted)
  ending.abort()
  await replica.done
}

const byId = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

async function everything(store: ResourceStore) {
  const pages = await Promise.all([...contractKinds.keys()].map((type) => store.list({ type })))
  return pages.flatMap(({ items }) => items.map(({ key, version }) => [toKeyString(key), version] as const)).toSorted(byId)
}

function toWrite({ kind, at, isStale }: ModelCommand, model: ReadonlyMap<KeyString, ModelEntry>): Write {
  const key = MODEL_KEYS[at]!
  const current = model.get(toKeyString(key))?.version
  const version = (isStale || current === undefined ? 'never' : String(current)) as Version
  if (kind === 'create') return { kind, draft: { key, spec: {} } }
  if (kind === 'delete') return { kind, key, expectedVersion: version }
  if (kind === 'delete unlocked') return { kind: 'delete', key }
  const resource = { key, version, spec: {}, labels: {}, createdAt: 0, modifiedAt: 0, writer: { name: '', instance: '' } }
  return { kind: 'update', resource }
}

function applyToModel(model: Map<KeyString, ModelEntry>, write: Write, index: number): string {
  const key = keyOfWrite(write)
  const id = toKeyString(key)
  const present = model.get(id)
  if (write.kind === 'create') {
    const owner = contractKinds.get(key.type)?.ownerOf?.(key)
    if (present !== undefined) return 'already_exists'
    if (owner !== undefined && !model.has(toKeyString(owner))) return 'owner_missing'
    model.set(id, { key, version: index })
    return 'ok'
  }
  if (present === undefined) return 'not_found'
  const expected = write.kind === 'update' ? write.resource.version : write.expectedVersion
  if (expected !== undefined && expected !== present.version) return 'conflict'
  if (write.kind === 'update') model.set(id, { key, version: index })
  else removeFromModel(model, key)
  return 'ok'
}

function removeFromModel(model: Map<KeyString, ModelEntry>, key: ResourceKey) {
  model.delete(toKeyString(key))
  for (const { key: other } of model.values()) {
    const owner = contractKinds.get(other.type)?.ownerOf?.(other)
    if (owner !== undefined && isSameKey(owner, key)) removeFromModel(model, other)
  }
}

/** What a reader who knows the store by its changes alone takes it to hold. */
function followChanges(store: ResourceStore, signal: AbortSignal) {
  const known = new Map<KeyString, string>()
  let wake = () => {}
  const done = follow(store.changes(signal))
  const entries = () => [...known].toSorted(byId)
  return {
    done,
    /** What it knows once it knows that; if that never comes the test's own time limit ends it. */
    async until(wanted: readonly (readonly [string, unknown])[]) {
      while (JSON.stringify(entries()) !== JSON.stringify(wanted)) await new Promise<void>((resolve) => (wake = resolve))
      return entries()
    },
  }

  async function follow(changes: AsyncIterable<ResourceChange>) {
    for await (const change of changes) {
      if (change.kind === 'put') known.set(toKeyString(change.resource.key), change.resource.version)
      else if (change.kind === 'deleted') {
        expect(known.get(toKeyString(change.key))).toBe(change.version)
        known.delete(toKeyString(change.key))
      } else throw new Error('this reader keeps up')
      wake()
    }
  }
}

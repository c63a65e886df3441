import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { isCoreError } from '../lib/errors.ts'
import type { Resource, ResourceKey } from '../model/resource.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { KdsProtos } from './protos.ts'

/**
 * The key that a zone signs and checks the tokens of its data planes with: without it a zone with its default authentication refuses every
 * data plane. One per mesh, made by the global when the mesh comes, kept as the Secret that crosses.
 */
export interface SigningKeys {
  /** Makes what is missing until aborted. */
  run(signal: AbortSignal): Promise<void>
}

export interface SigningKeysDeps {
  readonly store: Pick<ResourceStore, 'list' | 'create' | 'changes'>
  readonly protos: Pick<KdsProtos, 'message'>
  readonly onError: (what: string, error: unknown) => void
}

const WRITER = 'kds-sync'
const MESSAGE = 'kuma.system.v1alpha1.Secret'
const BITS = 2048

export function createSigningKeys({ store, protos, onError }: SigningKeysDeps): SigningKeys {
  const made = new Set<string>()
  return {
    async run(signal) {
      const changes = store.changes(signal)
      await ensureAll(signal)
      for await (const change of changes) {
        if (change.kind === 'resync') await ensureAll(signal)
        else if (change.kind === 'put' && change.resource.key.type === 'Mesh') await ensure(change.resource.key.name, signal)
        else if (change.kind === 'deleted' && change.key.type === 'Mesh') made.delete(change.key.name)
      }
    },
  }

  async function ensureAll(signal: AbortSignal) {
    const { items } = await store.list({ type: 'Mesh', limit: 1000 }, { signal })
    for (const { key } of items) await ensure(key.name, signal)
  }

  async function ensure(mesh: string, signal: AbortSignal) {
    if (made.has(mesh)) return
    const key: ResourceKey = { type: 'Secret', mesh, name: `dataplane-token-signing-key-${mesh}-1` }
    try {
      const { items } = await store.list({ type: 'Secret', keys: [key] }, { signal })
      if (items.length === 0) await store.create({ key, spec: await newKey() }, { writer: WRITER, signal })
      made.add(mesh)
    } catch (error) {
      // The mesh went meanwhile, or another made it.
      if (signal.aborted || isCoreError(error, 'already_exists') || isCoreError(error, 'owner_missing')) return
      onError(`make the signing key of mesh ${mesh}`, error)
    }
  }

  async function newKey(): Promise<object> {
    const { privateKey } = await promisify(generateKeyPair)('rsa', {
      modulusLength: BITS,
      publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    })
    const value = protos.message(MESSAGE).serialize({ data: { value: Buffer.from(privateKey) } })
    return { '@wire': { type: `type.googleapis.com/${MESSAGE}`, value: value.toString('base64') } }
  }
}

/** A Secret that is made to cross; the root of trust of a mesh is not: it never leaves this process. */
export function mayCross({ key, spec }: Pick<Resource, 'key' | 'spec'>): boolean {
  return (key.type !== 'Secret' && key.type !== 'GlobalSecret') || (typeof spec === 'object' && spec !== null && '@wire' in spec)
}

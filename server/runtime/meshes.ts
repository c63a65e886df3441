import { defaultPolicies } from '../model/default-policies.ts'
import type { ResourceStore, Write } from '../store/resource-store.ts'
import type { Config } from './config.ts'

/** So that a data plane can connect at once: its mesh must exist. A new one gets its default policies; one that exists stays as operators left it. */
export async function createMissingMeshes(store: Pick<ResourceStore, 'writeBatch' | 'list'>, meshes: Config['meshes']): Promise<void> {
  for (const { name, spec } of meshes) {
    const key = { type: 'Mesh', mesh: '', name }
    const { items } = await store.list({ type: 'Mesh', keys: [key] })
    if (items.length > 0) continue
    const writes: Write[] = [{ key, spec }, ...defaultPolicies(name)].map((draft) => ({ kind: 'create', draft }))
    for (const result of await store.writeBatch(writes, { writer: 'bootstrap' }))
      if (!result.ok && result.error.code !== 'already_exists') throw result.error
  }
}

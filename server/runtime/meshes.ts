import { isCoreError } from '../lib/errors.ts'
import type { ResourceStore } from '../store/resource-store.ts'
import type { Config } from './config.ts'

/** So that a data plane can connect at once: its mesh must exist. One that exists stays as operators left it. */
export async function createMissingMeshes(store: Pick<ResourceStore, 'create'>, meshes: Config['meshes']): Promise<void> {
  for (const { name, spec } of meshes) {
    await store.create({ key: { type: 'Mesh', mesh: '', name }, spec }, { writer: 'bootstrap' }).catch((error: unknown) => {
      if (!isCoreError(error, 'already_exists')) throw error
    })
  }
}

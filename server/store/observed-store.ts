import type { Clock } from '../lib/clock.ts'
import { type ErrorCode, toCoreError } from '../lib/errors.ts'
import type { ResourceStore } from './resource-store.ts'

export interface StoreOperation {
  readonly operation: 'get' | 'list' | 'create' | 'update' | 'delete' | 'batch'
  readonly type: string
  readonly result: 'ok' | ErrorCode
  readonly seconds: number
}

/** The store, with every operation told of when it has ended. Each write of a batch counts as one, by its own result and the batch's time. */
export function observedStore(
  store: ResourceStore,
  clock: Pick<Clock, 'monotonic'>,
  onOperation: (operation: StoreOperation) => void,
): ResourceStore {
  const watch = async <T>(what: Pick<StoreOperation, 'operation' | 'type'>, work: Promise<T>): Promise<T> => {
    const startedAt = clock.monotonic()
    const tell = (result: StoreOperation['result']) => onOperation({ ...what, result, seconds: (clock.monotonic() - startedAt) / 1000 })
    try {
      const answer = await work
      tell('ok')
      return answer
    } catch (error) {
      tell(toCoreError(error).code)
      throw error
    }
  }
  return {
    ...store,
    get: (key, options) => watch({ operation: 'get', type: key.type }, store.get(key, options)),
    list: (query, options) => watch({ operation: 'list', type: query.type }, store.list(query, options)),
    create: (draft, options) => watch({ operation: 'create', type: draft.key.type }, store.create(draft, options)),
    update: (resource, options) => watch({ operation: 'update', type: resource.key.type }, store.update(resource, options)),
    delete: (key, options) => watch({ operation: 'delete', type: key.type }, store.delete(key, options)),
    async writeBatch(writes, options) {
      const startedAt = clock.monotonic()
      const results = await store.writeBatch(writes, options)
      const seconds = (clock.monotonic() - startedAt) / 1000
      for (const [index, write] of writes.entries()) {
        const result = results[index]
        const { type } = write.kind === 'create' ? write.draft.key : write.kind === 'update' ? write.resource.key : write.key
        onOperation({ operation: 'batch', type, result: result === undefined || result.ok ? 'ok' : result.error.code, seconds })
      }
      return results
    },
  }
}

import type { Clock } from '../lib/clock.ts'
import { type ErrorCode, toCoreError } from '../lib/errors.ts'
import type { Kinds } from '../model/kind.ts'
import type { ResourceKey } from '../model/resource.ts'
import type { ResourceStore } from './resource-store.ts'
import { keyOfWrite } from './store-rules.ts'

export interface StoreOperation {
  readonly operation: 'get' | 'list' | 'create' | 'update' | 'delete' | 'batch'
  /** A known type, or `unknown`: what callers ask for never makes a new label. */
  readonly type: string
  readonly result: 'ok' | ErrorCode
  readonly seconds: number
}

export interface ObservedStoreDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly kinds: Kinds
}

/** The store, with every operation told of when it has ended. Each write of a batch counts as one, by its own result and the batch's time. */
export function observedStore(
  store: ResourceStore,
  { clock, kinds }: ObservedStoreDeps,
  onOperation: (operation: StoreOperation) => void,
): ResourceStore {
  return {
    ...store,
    get: (key, options) => watch({ operation: 'get', keys: [key] }, () => store.get(key, options)),
    list: (query, options) => watch({ operation: 'list', keys: [query] }, () => store.list(query, options)),
    create: (draft, options) => watch({ operation: 'create', keys: [draft.key] }, () => store.create(draft, options)),
    update: (resource, options) => watch({ operation: 'update', keys: [resource.key] }, () => store.update(resource, options)),
    delete: (key, options) => watch({ operation: 'delete', keys: [key] }, () => store.delete(key, options)),
    writeBatch(writes, options) {
      const keys = writes.map(keyOfWrite)
      return watch(
        { operation: 'batch', keys },
        () => store.writeBatch(writes, options),
        (results, index) => {
          const result = results[index]
          return result === undefined || result.ok ? 'ok' : result.error.code
        },
      )
    },
  }

  async function watch<T>(
    { operation, keys }: { readonly operation: StoreOperation['operation']; readonly keys: readonly Pick<ResourceKey, 'type'>[] },
    work: () => Promise<T>,
    resultAt: (answer: T, index: number) => StoreOperation['result'] = () => 'ok',
  ): Promise<T> {
    const startedAt = clock.monotonic()
    const tell = (resultOf: (index: number) => StoreOperation['result']) => {
      const seconds = (clock.monotonic() - startedAt) / 1000
      for (const [index, { type }] of keys.entries())
        onOperation({ operation, type: kinds.has(type) ? type : 'unknown', result: resultOf(index), seconds })
    }
    let answer: T
    try {
      answer = await work()
    } catch (error) {
      const { code } = toCoreError(error)
      tell(() => code)
      throw error
    }
    tell((index) => resultAt(answer, index))
    return answer
  }
}

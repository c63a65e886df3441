import { createFakeClock } from '../lib/fake-clock.ts'
import { createMemoryStore } from './memory-store.ts'
import { CONTRACT_BACKLOG, CONTRACT_INSTANCE, contractKinds, describeResourceStore } from './store-contract.ts'

describeResourceStore(
  'memory',
  async () => {
    const store = createMemoryStore({
      clock: createFakeClock(),
      kinds: contractKinds,
      instance: CONTRACT_INSTANCE,
      maxBacklog: CONTRACT_BACKLOG,
    })
    return { store, dispose: () => store.close() }
  },
  { atomic: true },
)

import { createFakeClock } from '../lib/fake-clock.ts'
import { createMemoryStore } from './memory-store.ts'
import { describeResourceStore } from './store-contract.ts'
import { CONTRACT_BACKLOG, CONTRACT_INSTANCE, contractKinds } from './testing/contract-kinds.ts'

describeResourceStore(
  'memory',
  async () => {
    const clock = createFakeClock()
    const store = createMemoryStore({
      clock,
      kinds: contractKinds,
      instance: CONTRACT_INSTANCE,
      maxBacklog: CONTRACT_BACKLOG,
    })
    return { store, clock, dispose: () => store.close() }
  },
  { atomic: true },
)

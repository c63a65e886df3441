import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeClock } from '../lib/fake-clock.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { describeResourceStore } from './store-contract.ts'
import { CONTRACT_BACKLOG, CONTRACT_INSTANCE, contractKinds } from './testing/contract-kinds.ts'

describeResourceStore(
  'sqlite',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidewatch-store-'))
    const clock = createFakeClock()
    const open = () => openSqliteStore(folder, { clock, kinds: contractKinds, instance: CONTRACT_INSTANCE, maxBacklog: CONTRACT_BACKLOG })
    const opened = [await open()]
    return {
      store: opened[0]!,
      clock,
      async reopen() {
        const again = await open()
        opened.push(again)
        return again
      },
      async dispose() {
        for (const store of opened) await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
  { atomic: true },
)

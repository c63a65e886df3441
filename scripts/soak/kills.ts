import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { createSystemClock } from '../../server/lib/clock.ts'
import { openSqliteStore } from '../../server/store/sqlite-store.ts'
import { contractKinds } from '../../server/store/testing/contract-kinds.ts'
import type { Report } from './report.ts'

const FLUSHER = join(import.meta.dirname, '../../server/store/testing/flusher.ts')
/** Long enough for some dozens of commits, and for a checkpoint now and then. */
const LONGEST_MS = 600

interface Acknowledged {
  readonly name: string
  readonly version: number
  readonly round: number
}

export interface KillsOptions {
  readonly times: number
  readonly random: () => number
}

/** A flushing process is killed at random moments; what it was told is stored must be, and versions never go back. */
export async function soakKills({ times, random }: KillsOptions, report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-kills-'))
  const acknowledged = new Map<string, Acknowledged>()
  const found = { writes: 0, lost: 0, back: 0, unclean: 0 }
  let highest = 0
  try {
    for (let kill = 0; kill < times; kill++) {
      for (const write of await flushUntilKilled(folder, random() * LONGEST_MS)) {
        if (write.version <= highest) found.back++
        found.writes++
        acknowledged.set(write.name, write)
      }
      try {
        const store = await openSqliteStore(folder, { clock: createSystemClock(), kinds: contractKinds, instance: 'soak' })
        const { items } = await store.list<{ round: number }>({ type: 'Child', limit: 1000 })
        const stored = new Map(items.map((resource) => [resource.key.name, resource]))
        for (const { name, version, round } of acknowledged.values()) {
          const resource = stored.get(name)
          if (resource === undefined || resource.spec.round < round || Number(resource.version) < version) found.lost++
        }
        highest = Math.max(highest, ...items.map(({ version }) => Number(version)))
        await store.close()
      } catch (error) {
        found.unclean++
        report.say(`  start ${kill + 1} was not clean: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  report.say(`killed ${times} times, ${found.writes} writes acknowledged`)
  report.hold(found.writes > 0, 'writes were acknowledged between the kills', found.writes)
  report.hold(found.lost === 0, 'no acknowledged write is lost', found.lost)
  report.hold(found.back === 0, 'no version goes back', found.back)
  report.hold(found.unclean === 0, 'every start is clean', `${found.unclean} were not`)
}

/** Gives what it said was stored until it was killed, `afterMs` after its first acknowledged batch. */
async function flushUntilKilled(folder: string, afterMs: number): Promise<readonly Acknowledged[]> {
  const child = spawn(process.execPath, [FLUSHER, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const first = Promise.withResolvers<void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    first.resolve()
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await Promise.race([first.promise, closed])
  await wait(afterMs)
  child.kill('SIGKILL')
  await closed
  // The last line may be cut off by the kill: then nobody was told.
  return lines.filter((line) => line.startsWith('[') && line.endsWith(']')).flatMap((line) => JSON.parse(line) as Acknowledged[])
}

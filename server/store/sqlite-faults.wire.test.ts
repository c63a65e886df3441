import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { CONTRACT_INSTANCE, contractKinds } from './store-contract.ts'

const FLUSHER = join(import.meta.dirname, 'testing', 'flusher.ts')
const KILLS = 5

describe('a SQLite store on a file that has a problem', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidewatch-faults-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const open = () => openSqliteStore(folder, { clock: createFakeClock(), kinds: contractKinds, instance: CONTRACT_INSTANCE })
  const refusalOf = () =>
    open().then(
      async (store) => {
        await store.close()
        return 'opened'
      },
      (error: Error) => error.message,
    )

  it('refuses a second process, or a second opening, in one line', async () => {
    const store = await open()
    const message = await refusalOf()
    expect(message).toMatch(/in use by another process.*--data-dir/)
    expect(message).not.toContain('\n')
    await store.close()
    expect(await refusalOf()).toBe('opened')
  })

  it('refuses a file of a newer version, naming both', async () => {
    await (await open()).close()
    const database = new DatabaseSync(join(folder, 'tidewatch.db'))
    database.exec('PRAGMA user_version = 99')
    database.close()
    expect(await refusalOf()).toMatch(/newer Tidewatch \(schema 99, this one knows 1\)/)
  })

  it('refuses a file that is no store', async () => {
    writeFileSync(join(folder, 'tidewatch.db'), 'this is not a database, but it is long enough to be looked at as one. '.repeat(100))
    expect(await refusalOf()).toMatch(/damaged \(it is not, or no longer, a Tidewatch store\)/)
  })

  it('refuses a file with a damaged page', async () => {
    const store = await open()
    await store.create({ key: { type: 'Parent', mesh: '', name: 'm' }, spec: { text: 'x'.repeat(50_000) } }, { writer: 'w' })
    await store.close()
    const path = join(folder, 'tidewatch.db')
    const bytes = readFileSync(path)
    bytes.fill(0x5a, 4096, 4096 + 3000)
    writeFileSync(path, bytes)
    expect(await refusalOf()).toMatch(/damaged/)
  })

  it('refuses a folder that is a file', async () => {
    const path = join(folder, 'file')
    writeFileSync(path, '')
    await expect(
      openSqliteStore(join(path, 'data'), { clock: createFakeClock(), kinds: contractKinds, instance: CONTRACT_INSTANCE }),
    ).rejects.toThrow(/can't be made.*--data-dir/)
  })

  it('refuses a folder in the place of its file', async () => {
    mkdirSync(join(folder, 'tidewatch.db'))
    expect(await refusalOf()).toMatch(/can't be (opened|used)/)
  })
})

describe('a process killed in the middle of flushing', () => {
  it(`loses no acknowledged write, starts clean, and never goes back in versions, ${KILLS} times over`, { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidewatch-kill-'))
    try {
      const acknowledged = new Map<string, { version: number; round: number }>()
      let highest = 0
      for (let kill = 0; kill < KILLS; kill++) {
        for (const { name, version, round } of await flushUntilKilled(folder, 150 + kill * 130)) {
          expect(version).toBeGreaterThan(highest)
          acknowledged.set(name, { version, round })
        }
        const store = await openSqliteStore(folder, { clock: createFakeClock(), kinds: contractKinds, instance: CONTRACT_INSTANCE })
        for (const [name, { version, round }] of acknowledged) {
          const stored = await store.get<{ round: number }>({ type: 'Child', mesh: 'm', name })
          expect(Number(stored.version)).toBeGreaterThanOrEqual(version)
          expect(stored.spec.round).toBeGreaterThanOrEqual(round)
          highest = Math.max(highest, Number(stored.version))
        }
        await store.close()
      }
      expect(acknowledged.size).toBeGreaterThan(0)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

interface Acknowledged {
  readonly name: string
  readonly version: number
  readonly round: number
}

/** Runs the flusher and kills it `afterMs` after its first acknowledged batch; gives what it said was stored. */
async function flushUntilKilled(folder: string, afterMs: number): Promise<readonly Acknowledged[]> {
  const child: ChildProcess = spawn(process.execPath, [FLUSHER, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const seen: Acknowledged[] = []
  let timer: NodeJS.Timeout | undefined
  createInterface({ input: child.stdout! }).on('line', (line) => {
    if (!line.endsWith(']')) return
    seen.push(...(JSON.parse(line) as Acknowledged[]))
    timer ??= setTimeout(() => child.kill('SIGKILL'), afterMs)
  })
  await new Promise((resolve) => child.on('close', resolve))
  expect(child.signalCode).toBe('SIGKILL')
  return seen
}

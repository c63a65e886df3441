import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFakeClock } from '../lib/fake-clock.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { CONTRACT_INSTANCE, contractKinds } from './testing/contract-kinds.ts'

const FLUSHER = join(import.meta.dirname, 'testing', 'flusher.ts')
/** Part of util-linux: changes the limits of a running process. */
const PRLIMIT = 'prlimit'

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

  it('refuses a second opening in one line, until the first is closed', async () => {
    const store = await open()
    const message = await refusalOf()
    expect(message).toMatch(/tidewatch.lock is in use by another process.*--data-dir/)
    expect(message).not.toContain('\n')
    await store.close()
    expect(await refusalOf()).toBe('opened')
  })

  it('refuses a file that another process has, until that one is killed', async () => {
    const flusher = startFlusher(folder)
    await flusher.says(/^\[/)
    expect(await refusalOf()).toMatch(/in use by another process/)
    flusher.child.kill('SIGKILL')
    await flusher.closed
    expect(await refusalOf()).toBe('opened')
  })

  it('leaves no thread, no open file and nothing beside its one file behind when it is closed', async () => {
    const openFiles = () =>
      process.platform === 'linux' ? readdirSync('/proc/self/fd').filter((fd) => linkOf(`/proc/self/fd/${fd}`).startsWith(folder)) : []
    const store = await open()
    await store.create({ key: { type: 'Parent', mesh: '', name: 'm' }, spec: {} }, { writer: 'w' })
    await store.list({ type: 'Parent' })
    if (process.platform === 'linux') expect(openFiles()).not.toEqual([])
    const threads = process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
    await store.close()
    expect(openFiles()).toEqual([])
    expect(process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length).toBeLessThan(threads)
    expect(readdirSync(folder).toSorted()).toEqual(['tidewatch.db', 'tidewatch.lock'])
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

  it('refuses a database of something else, and leaves it as it is', async () => {
    const path = join(folder, 'tidewatch.db')
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE accounts (id INTEGER)')
    database.close()
    const before = readFileSync(path)
    expect(await refusalOf()).toMatch(/is a database of something else/)
    expect(readFileSync(path)).toEqual(before)
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

describe('a SQLite store whose commits fail', () => {
  it('fails those writes alone, says what the problem is, and works again when its cause has gone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidewatch-failing-'))
    const clock = createFakeClock()
    const store = await openSqliteStore(folder, { clock, kinds: contractKinds, instance: CONTRACT_INSTANCE })
    const other = new DatabaseSync(join(folder, 'tidewatch.db'))
    const key = (name: string) => ({ type: 'Parent', mesh: '', name })
    const create = (name: string) => store.create({ key: key(name), spec: {} }, { writer: 'w' })
    const changes = store.changes(new AbortController().signal)
    try {
      const before = await create('before')
      other.exec("CREATE TRIGGER broken BEFORE INSERT ON resources BEGIN SELECT RAISE(ROLLBACK, 'the disk is broken'); END")
      await expect(create('lost')).rejects.toMatchObject({
        code: 'unavailable',
        safeToRetry: true,
        message: expect.stringMatching(/the disk is broken/),
      })
      expect(store.problem()).toMatchObject({ since: clock.now() })
      expect(await store.get(key('before'))).toBe(before)
      other.exec('DROP TRIGGER broken')
      const after = await create('after')
      expect(store.problem()).toBeNull()
      expect(Number(after.version)).toBeGreaterThan(Number(before.version))
      expect((await store.list({ type: 'Parent' })).items).toEqual([after, before])
      await store.close()
      const told: string[] = []
      for await (const change of changes) told.push(change.kind === 'put' ? change.resource.key.name : change.kind)
      expect(told).toEqual(['before', 'after'])
      expect(clock.pending()).toBe(0)
    } finally {
      other.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('starts its writing thread again when that has ended, and keeps the file from others meanwhile and after', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidewatch-thread-'))
    const clock = createFakeClock()
    const sends = vi.spyOn(Worker.prototype, 'postMessage')
    const store = await openSqliteStore(folder, { clock, kinds: contractKinds, instance: CONTRACT_INSTANCE })
    try {
      const key = { type: 'Parent', mesh: '', name: 'm' }
      const created = await store.create({ key, spec: {} }, { writer: 'w' })
      const thread = sends.mock.contexts[0] as Worker
      await thread.terminate()
      expect(store.problem()?.message).toMatch(/the thread that writes .* has ended; the next write starts it again/)
      expect(await store.get(key)).toBe(created)
      const updated = await store.update({ ...created, spec: { again: true } }, { writer: 'w' })
      expect(Number(updated.version)).toBeGreaterThan(Number(created.version))
      expect(store.problem()).toBeNull()
      const second = openSqliteStore(folder, { clock, kinds: contractKinds, instance: CONTRACT_INSTANCE })
      await expect(second).rejects.toThrow(/in use by another process/)
    } finally {
      sends.mockRestore()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    }
    expect(clock.pending()).toBe(0)
  })

  it.runIf(hasPrlimit())('goes on when a disk that was full has room again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidewatch-full-'))
    // Files of the flusher may not grow beyond this: to it that is a disk without room.
    const flusher = startFlusher(folder, { fileLimitKiB: 1_000 })
    try {
      expect(await flusher.says(/^\[/)).toBeTruthy()
      expect(await flusher.says(/^unavailable/)).toMatch(/tidewatch\.db/)
      execFileSync(PRLIMIT, ['--pid', String(flusher.child.pid), '--fsize=unlimited'])
      const [first] = JSON.parse(await flusher.says(/^\[/)) as Acknowledged[]
      flusher.child.kill('SIGKILL')
      await flusher.closed
      const store = await openSqliteStore(folder, { clock: createFakeClock(), kinds: contractKinds, instance: CONTRACT_INSTANCE })
      const stored = await store.get<{ round: number }>({ type: 'Child', mesh: 'm', name: first!.name })
      expect(stored.spec.round).toBeGreaterThanOrEqual(first!.round)
      await store.close()
    } finally {
      flusher.child.kill('SIGKILL')
      await flusher.closed
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

interface Acknowledged {
  readonly name: string
  readonly version: number
  readonly round: number
}

function startFlusher(folder: string, { fileLimitKiB }: { readonly fileLimitKiB?: number } = {}) {
  const command = [process.execPath, FLUSHER, folder]
  const limited = fileLimitKiB === undefined ? command : ['bash', '-c', `ulimit -S -f ${fileLimitKiB}; exec "$@"`, 'bash', ...command]
  const child: ChildProcess = spawn(limited[0]!, limited.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  let wake = () => {}
  let isClosed = false
  createInterface({ input: child.stdout! }).on('line', (line) => {
    lines.push(line)
    wake()
  })
  const closed = new Promise<void>((resolve) =>
    child.on('close', () => {
      isClosed = true
      wake()
      resolve()
    }),
  )
  return {
    child,
    lines,
    closed,
    /** The next line of that form that it says from now on. */
    async says(form: RegExp): Promise<string> {
      for (let from = lines.length; ; from++) {
        while (lines.length <= from && !isClosed) await new Promise<void>((resolve) => (wake = resolve))
        const line = lines[from]
        if (line === undefined) throw new Error(`it ended without saying ${form}`)
        if (form.test(line)) return line
      }
    },
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function hasPrlimit(): boolean {
  return process.platform === 'linux' && spawnSync(PRLIMIT, ['--version']).status === 0
}

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Clone, createClone, linkPackages } from './clone.ts'

describe('the launcher', () => {
  let clone: Clone
  beforeAll(() => {
    clone = createClone()
    linkPackages(clone.root)
  })
  afterAll(() => clone[Symbol.dispose]())

  test('takes over the turn of a command that was killed', async () => {
    writeFileSync(join(clone.root, '.launch-busy'), 'killed')
    const { status, stderr } = await clone.launch(['-e', ''])
    expect(status).toBe(0)
    expect(stderr).toContain('generating the types')
    expect(existsSync(join(clone.root, '.launch-busy'))).toBe(false)
  })

  test('ends with 128 and the number of the signal that ended the entry', async () => {
    expect(await clone.launch(['-e', 'process.kill(process.pid, "SIGKILL")'])).toMatchObject({ status: 128 + 9 })
  })

  const endings: Readonly<Record<string, { readonly end: (probe: Probe) => void; readonly signal: NodeJS.Signals }>> = {
    'npm is stopped': { end: ({ child }) => child.kill('SIGTERM'), signal: 'SIGTERM' },
    'npm is killed': { end: ({ child }) => child.kill('SIGKILL'), signal: 'SIGTERM' },
    // A terminal sends it to every process in the foreground.
    'Ctrl-C is pressed': { end: ({ child }) => process.kill(-child.pid!, 'SIGINT'), signal: 'SIGINT' },
  }
  test.each(Object.entries(endings))('the entry ends in order and no process is left when %s', async (_, { end, signal }) => {
    const npm = startProbe(clone)
    const { launcher, entry } = await npm.pids
    end(npm)
    await npm.closed
    expect(npm.lines()).toEqual([`flushed after ${signal}`])
    await expect.poll(() => [launcher, entry].filter(isRunning)).toEqual([])
  })
})

interface Probe {
  readonly child: ChildProcess
  readonly pids: Promise<{ readonly launcher: number; readonly entry: number }>
  /** When stdout is closed: the last process that has it is gone. */
  readonly closed: Promise<unknown>
  lines(): readonly string[]
}

/** A long-running entry under real npm: takes a moment to flush when told to stop, as the server does. */
function startProbe(clone: Clone): Probe {
  const manifest = join(clone.root, 'package.json')
  const { scripts, ...rest } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts: Record<string, string> }
  writeFileSync(manifest, JSON.stringify({ ...rest, scripts: { ...scripts, probe: 'node scripts/launch.js .git/probe.js' } }))
  writeFileSync(
    join(clone.root, '.git/probe.js'),
    `let isStopping = false
     const alive = setInterval(() => {}, 1000)
     for (const signal of ['SIGINT', 'SIGTERM'])
       process.on(signal, () => {
         if (isStopping) return
         isStopping = true
         setTimeout(() => { console.log('flushed after ' + signal); clearInterval(alive) }, 300)
       })
     console.log(JSON.stringify({ launcher: process.ppid, entry: process.pid }))`,
  )
  // A process group of its own, as in a terminal.
  const child = spawn('npm', ['run', '--silent', 'probe'], { cwd: clone.root, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  const pids = new Promise<{ launcher: number; entry: number }>((resolve) => {
    reader.on('line', (line) =>
      line.startsWith('{') ? resolve(JSON.parse(line) as { launcher: number; entry: number }) : lines.push(line),
    )
  })
  const closed = new Promise((resolve) => reader.on('close', resolve))
  return { child, pids, closed, lines: () => lines }
}

/** Not so a process that has ended and whose adoptive parent has not collected it yet. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    // No /proc on this system, so the signal alone has told.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && process.platform !== 'linux'
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Clone, createClone, linkPackages } from './clone.ts'

/** What `npm ci` does, without a network: counts itself and brings the packages. */
const installer = (log: string) => `
import { appendFileSync } from 'node:fs'
import { linkPackages } from ${JSON.stringify(join(import.meta.dirname, 'clone.ts'))}
appendFileSync(${JSON.stringify(log)}, process.argv.slice(2).join(' ') + '\\n')
linkPackages(process.cwd())
`

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function launch(clone: Clone, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['scripts/launch.js', ...args], {
      cwd: clone.root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => (said[stream] += text))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, ...said }))
  })
}

const timesSaid = (text: string, all: readonly Ended[]) =>
  all.map(({ stderr }) => stderr.split(text).length - 1).reduce((sum, count) => sum + count, 0)

describe('on a fresh clone', () => {
  let clone: Clone
  const installLog = () => join(clone.root, '.git/installs')
  beforeAll(() => {
    clone = createClone()
    writeFileSync(join(clone.root, '.git/installer.ts'), installer(installLog()))
  })
  afterAll(() => clone[Symbol.dispose]())

  test('two commands at once install, generate and build once, and both run', async () => {
    const env = { npm_execpath: join(clone.root, '.git/installer.ts') }
    const both = await Promise.all([
      launch(clone, ['--build', '-e', 'console.log("first", process.versions.node)'], env),
      launch(clone, ['--build', '-e', 'console.log("second"); process.exitCode = 3'], env),
    ])
    expect(both.map(({ status, stdout }) => ({ status, stdout }))).toEqual([
      { status: 0, stdout: expect.stringMatching(/^first 26\./) },
      { status: 3, stdout: 'second\n' },
    ])
    expect(readFileSync(installLog(), 'utf8').split('\n')).toEqual([expect.stringContaining('ci --include=dev --ignore-scripts'), ''])
    for (const step of ['installing packages', 'generating the types', 'building the web interface'])
      expect({ step, times: timesSaid(step, both) }).toEqual({ step, times: 1 })
    expect(existsSync(join(clone.root, '.next/BUILD_ID'))).toBe(true)
  }, 180_000)

  test('leaves the checkout clean', () => {
    expect(clone.status()).toBe('')
  })

  test('does nothing twice', async () => {
    expect(await launch(clone, ['--build', '-e', ''])).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  test('what the browser gets is stale when its sources change, and not when tests do', async () => {
    const isBuilt = async () =>
      (
        await launch(clone, ['--input-type=module', '-e', "console.log((await import('./scripts/launch-steps.js')).build.isDone())"])
      ).stdout.trim()
    expect(await isBuilt()).toBe('true')
    writeFileSync(join(clone.root, 'app/new.test.ts'), '')
    expect(await isBuilt()).toBe('true')
    writeFileSync(join(clone.root, 'server/model/new.ts'), '')
    expect(await isBuilt()).toBe('false')
  })
})

describe('with packages installed', () => {
  let clone: Clone
  beforeAll(() => {
    clone = createClone()
    linkPackages(clone.root)
  })
  afterAll(() => clone[Symbol.dispose]())

  test('takes over the turn of a command that was killed', async () => {
    writeFileSync(join(clone.root, '.launch-busy'), 'killed')
    const { status, stderr } = await launch(clone, ['-e', ''])
    expect(status).toBe(0)
    expect(stderr).toContain('generating the types')
    expect(existsSync(join(clone.root, '.launch-busy'))).toBe(false)
  })

  test('ends with 128 and the number of the signal that ended the entry', async () => {
    expect(await launch(clone, ['-e', 'process.kill(process.pid, "SIGKILL")'])).toMatchObject({ status: 128 + 9 })
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

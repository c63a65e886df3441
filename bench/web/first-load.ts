import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { firstLoadOf } from '../../e2e/first-load.ts'
import { type Bench, bound, type Pair } from '../harness.ts'
import { startHost } from './host.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Times an empty page. */
const LIMITS: Readonly<Record<string, number>> = {
  '/': 1.35,
  '/insights': 1.5,
  '/sinks': 1.5,
  '/streams': 1.5,
  '/conflicts': 1.5,
  '/watchers': 1.5,
}

/** JavaScript a page loads before it works, against an empty page built by the same tools. Exact: one run each. */
export const firstLoadBench: Bench = {
  name: 'first-load',
  async run() {
    const empty = emptyPageBytes()
    const host = await startHost(10, 0)
    try {
      const pairs: Pair[] = []
      for (const [path, limit] of Object.entries(LIMITS)) {
        const { gzipBytes } = await firstLoadOf(host.url, path)
        pairs.push({
          id: `first-load.${path.slice(1) || 'overview'}`,
          title: `JavaScript before ${path} works, in a bound of ${limit} times an empty page`,
          unit: 'bytes',
          target: 1,
          runs: bound(limit * empty, [gzipBytes]),
          note: `${(gzipBytes / empty).toFixed(3)} times the ${empty} bytes of an empty page`,
        })
      }
      return pairs
    } finally {
      host.stop()
    }
  },
}

/** Inside the build's own folder, which nobody keeps and from which the packages are found. */
function emptyPageBytes(): number {
  const folder = join(ROOT, '.next/empty-page')
  mkdirSync(join(folder, 'app'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(folder, 'next.config.mjs'),
    `export default { turbopack: { root: ${JSON.stringify(ROOT)} }, typescript: { ignoreBuildErrors: true } }`,
  )
  writeFileSync(
    join(folder, 'app/layout.jsx'),
    'export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html> }',
  )
  writeFileSync(join(folder, 'app/page.jsx'), 'export default function Page() { return <h1>Hello</h1> }')
  execFileSync(process.execPath, [join(ROOT, 'node_modules/next/dist/bin/next'), 'build'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const html = readFileSync(join(folder, '.next/server/app/index.html'), 'utf8')
  const files = new Set([...html.matchAll(/src="\/_next\/(static\/[^"]+\.js)[^"]*"(?![^>]*nomodule)/gi)].map(([, file]) => file!))
  const bytes = [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, '.next', file))).length, 0)
  rmSync(folder, { recursive: true })
  return bytes
}

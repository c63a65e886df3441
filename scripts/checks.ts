import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findBrokenDocPaths } from './doc-paths.ts'
import { findLayerFaults } from './layer-table.ts'
import { pathOfTool, runTool } from './tools.ts'

/** One thing that `npm run check` demands. */
export interface Check {
  readonly name: string
  /** What is wrong in the repository at `root`, ready to be read; undefined when nothing is. */
  run(root: string): Promise<string | undefined>
}
export interface CheckResult {
  readonly name: string
  readonly problem: string | undefined
  readonly elapsedMs: number
}

const checks: readonly Check[] = [
  { name: 'format', run: (root) => outputOf(root, pathOfTool('oxfmt'), ['--check']) },
  { name: 'lint', run: (root) => outputOf(root, pathOfTool('oxlint'), ['--deny-warnings']) },
  { name: 'types', run: checkTypes },
  { name: 'types of server/', run: (root) => outputOf(root, pathOfTool('tsc', 'typescript'), ['--noEmit', '-p', 'server/tsconfig.json']) },
  { name: 'unused', run: (root) => outputOf(root, pathOfTool('knip'), ['--no-progress', '--treat-config-hints-as-errors']) },
  { name: 'layers', run: async (root) => listed(await findLayerFaults(root)) },
  { name: 'doc paths', run: async (root) => listed(findBrokenDocPaths(root)) },
]

/** Runs all of them, two at a time (each tool uses several cores by itself), and tells each result as it comes. */
export async function runChecks(root: string, onResult: (result: CheckResult) => void): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  const waiting = [...checks]
  const work = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const startedAt = performance.now()
      const problem = await check.run(root).catch((error: unknown) => `could not be run: ${String(error)}`)
      const result = { name: check.name, problem, elapsedMs: performance.now() - startedAt }
      results.push(result)
      onResult(result)
    }
  }
  await Promise.all([work(), work()])
  return results
}

export function printResult({ name, problem, elapsedMs }: CheckResult): void {
  const seconds = `${(elapsedMs / 1000).toFixed(1)} s`
  console.log(
    problem === undefined ? `  ok    ${name} (${seconds})` : `  FAIL  ${name} (${seconds})\n\n${problem.replace(/^/gm, '        ')}\n`,
  )
}

/** Next declares what CSS imports and page props are. */
async function checkTypes(root: string): Promise<string | undefined> {
  const problem = existsSync(join(root, 'app')) ? await outputOf(root, pathOfTool('next'), ['typegen']) : undefined
  return problem ?? outputOf(root, pathOfTool('tsc', 'typescript'), ['--noEmit', '-p', 'tsconfig.json'])
}

async function outputOf(root: string, file: string, args: readonly string[]): Promise<string | undefined> {
  const { status, output } = await runTool(root, file, args)
  return status === 0 ? undefined : output || `exit status ${status} without a word`
}

function listed(faults: readonly string[]): string | undefined {
  return faults.length === 0 ? undefined : faults.join('\n')
}

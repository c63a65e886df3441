// npm run check: everything about the code that can be judged without running it.
import { join } from 'node:path'
import { printResult, runChecks } from './checks.ts'

const results = await runChecks(join(import.meta.dirname, '..'), printResult)
const failed = results.filter(({ problem }) => problem !== undefined)
console.log(failed.length === 0 ? `${results.length} checks passed` : `failed: ${failed.map(({ name }) => name).join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

/**
 * npm run bench [-- name ...] [--strict]: runs the benches (all, or those named) and writes what came of them into bench/results.json, beside
 * what others left there. A missed target is shown; with --strict it is exit code 1.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { benches } from './benches.ts'
import { type BenchResult, toResult } from './harness.ts'

const FILE = join(import.meta.dirname, 'results.json')

const args = process.argv.slice(2)
const isStrict = args.includes('--strict')
const names = args.filter((arg) => arg !== '--strict')
const unknown = names.filter((name) => !benches.some((bench) => bench.name === name))
if (unknown.length > 0) {
  console.error(`there is no bench ${unknown.join(', ')}; there are: ${benches.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const results: BenchResult[] = []
for (const bench of benches.filter(({ name }) => names.length === 0 || names.includes(name))) {
  console.log(`\n== ${bench.name}`)
  for (const pair of await bench.run()) {
    const result = toResult(pair)
    results.push(result)
    console.log(lineOf(result))
  }
}
const before = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as readonly BenchResult[]) : []
const kept = before.filter(({ id }) => !results.some((result) => result.id === id))
writeFileSync(
  FILE,
  `${JSON.stringify(
    [...kept, ...results].sort((a, b) => (a.id < b.id ? -1 : 1)),
    null,
    2,
  )}\n`,
)
const missed = results.filter(({ ok }) => !ok)
console.log(
  `\n${results.length - missed.length} of ${results.length} targets met${missed.length === 0 ? '' : `; missed: ${missed.map(({ id }) => id).join(', ')}`}`,
)
process.exit(isStrict && missed.length > 0 ? 1 : 0)

function lineOf({ ok, title, ratio, min, max, target, ours, baseline, unit, note }: BenchResult): string {
  const figures = `${ours} against ${baseline} ${unit}`
  return `  ${ok ? 'ok    ' : 'MISSED'} ${title}: ${ratio}x (${min} to ${max}), target ${target}x; ${figures}${note === undefined ? '' : `\n         ${note}`}`
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runChecks } from './checks.ts'
import { createScratchRepository } from './scratch-repository.ts'

const repository = join(import.meta.dirname, '..')
const manifest = `{
  "name": "scratch",
  "type": "module",
  "devDependencies": {
    "@types/node": "26.6.7",
    "next": "16.4.6",
    "oxlint": "1.94.0",
    "typescript": "7.0.2"
  }
}
`
/** Under our configuration, and nothing to complain about. */
const sound: Readonly<Record<string, string>> = {
  'package.json': manifest,
  'knip.json': '{ "entry": ["server/main.ts"], "project": ["server/**/*.ts"] }\n',
  'server/main.ts': "import { greeting } from './lib/greeting.ts'\n\nexport const greeted = greeting\n",
  'server/lib/greeting.ts': "export const greeting = 'hello'\n",
  'README.md': 'Start at `server/main.ts`, see `server/**/*.ts` and [how](docs/ARCHITECTURE.md). `server/` is ours, `and/or` is no path.\n',
  'docs/ARCHITECTURE.md': readFileSync(join(repository, 'docs/ARCHITECTURE.md'), 'utf8').replace(
    /^[\s\S]*?(?=```layers)|(?<=^```\n)[\s\S]*/gm,
    '',
  ),
}

async function problemsOf(files: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string | undefined>>> {
  using scratch = createScratchRepository(files)
  const results = await runChecks(scratch.root, () => {})
  return Object.fromEntries(results.map(({ name, problem }) => [name, problem]))
}

test('finds nothing in a sound repository', async () => {
  expect(await problemsOf(sound)).toEqual({
    format: undefined,
    lint: undefined,
    types: undefined,
    'types of server/': undefined,
    unused: undefined,
    layers: undefined,
    'doc paths': undefined,
  })
})

test('each check names its offender', async () => {
  const problems = await problemsOf({
    ...sound,
    'package.json': manifest.replace('"next"', '"zod": "4.6.7",\n    "next"'),
    'server/lib/format.ts': 'export   const value = 1;\n',
    'server/lib/lint.ts': "console.log('x')\n",
    'server/lib/type-error.ts': "export const value: number = 'one'\n",
    'server/lib/browser.ts': 'export const value = document.title\n',
    'server/lib/greeting.ts': "export const greeting = 'hello'\nexport const farewell = 'bye'\n",
    'server/lib/nobodys.ts': 'export const value = 1\n',
    'server/elsewhere/file.ts': 'export const value = 1\n',
    'docs/ARCHITECTURE.md': '```layers\nlib   mechanisms\nmodel\n```\n',
    'docs/guide.md': 'Open `server/gone.ts`, then `server/*.gone`, then [the map](gone.md).\n',
  })
  expect(problems['format']).toContain('server/lib/format.ts')
  expect(problems['lint']).toContain('server/lib/lint.ts')
  expect(problems['types']).toContain('server/lib/type-error.ts')
  expect(problems['types of server/']).toContain('server/lib/browser.ts')
  expect(problems['unused']).toMatch(/Unused files[\s\S]*server\/lib\/nobodys\.ts/)
  expect(problems['unused']).toMatch(/Unused exports[\s\S]*farewell/)
  expect(problems['unused']).toMatch(/Unused devDependencies[\s\S]*zod/)
  expect(problems['unused']).not.toContain('greeting  ')
  expect(problems['layers']).toContain('server/elsewhere has no place in the layer table')
  expect(problems['layers']).toContain('docs/ARCHITECTURE.md draws other layers')
  expect(problems['doc paths']?.split('\n')).toEqual([
    'docs/guide.md:1: server/gone.ts does not exist',
    'docs/guide.md:1: server/*.gone does not exist',
    'docs/guide.md:1: docs/gone.md does not exist',
  ])
})

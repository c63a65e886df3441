import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createScratchRepository, type ScratchRepository } from './scratch-repository.ts'
import { pathOfTool, runTool } from './tools.ts'

interface Offence {
  readonly path: string
  readonly source: string
  /** The rule that must speak up, and what it must say. */
  readonly rule: string
  readonly says?: string
}

const IMPORTS = 'eslint(no-restricted-imports)'
const GLOBALS = 'eslint(no-restricted-globals)'
const PROPERTIES = 'eslint(no-restricted-properties)'
const TIME = 'time comes from the Clock'
const CHANCE = 'randomness is an argument'
const TYPES_ONLY = 'the UI takes types from server/'
const NO_ZOD = 'this file carries zod'

/** What the offenders import. */
const targets: Readonly<Record<string, string>> = {
  'server/lib/mechanism.ts': 'export const thing = 1\n',
  'server/model/noun.ts': 'export const thing = 1\n',
  'server/model/noun-schema.ts': 'export const thing = 1\nexport type Thing = typeof thing\n',
  'server/model/load-kinds.ts': 'export const thing = 1\n',
  'server/model/kinds/kind-of-noun.ts': 'export const thing = 1\nexport type Thing = typeof thing\n',
  'server/store/port.ts': 'export const thing = 1\n',
  'server/link/port.ts': 'export const thing = 1\n',
  'server/xds/part.ts': 'export const thing = 1\n',
  'server/runtime/root.ts': 'export const thing = 1\n',
  'server/api/view.ts': 'export const thing = 1\nexport type Thing = typeof thing\n',
  'server/demo/fleet.ts': 'export const thing = 1\n',
  'components/widget.tsx': 'export const thing = 1\n',
  'app/screen.tsx': 'export const thing = 1\n',
}
const use = (path: string) => `import { thing } from '${path}'\n\nexport const used = thing\n`
const useType = (path: string) => `import type { Thing } from '${path}'\n\nexport type Used = Thing\n`
const expression = (code: string) => `export const value = ${code}\n`

/** What main must not do, and what config may and may not do. */
const MAIN = 'export const thing = [setTimeout(() => {}, 1), process.env]\n'
const CONFIG = 'export const value = [Date.now(), process.env]\n'

const offences: Readonly<Record<string, Offence>> = {
  'an import of a sibling': {
    path: 'server/store/sibling.ts',
    source: use('../link/port.ts'),
    rule: IMPORTS,
    says: 'server/store may import',
  },
  'an import of a sibling among the working parts': {
    path: 'server/sinks/sibling.ts',
    source: use('../xds/part.ts'),
    rule: IMPORTS,
    says: 'server/sinks may import',
  },
  'an import of a sibling from a folder further down': {
    path: 'server/sinks/deep/sibling.ts',
    source: use('../../xds/part.ts'),
    rule: IMPORTS,
    says: 'server/sinks may import',
  },
  'a re-export of a sibling': {
    path: 'server/sinks/re-export.ts',
    source: "export { thing } from '../xds/part.ts'\n",
    rule: IMPORTS,
    says: 'server/sinks may import',
  },
  'an import of a line below': {
    path: 'server/model/upward.ts',
    source: use('../store/port.ts'),
    rule: IMPORTS,
    says: 'server/model may import',
  },
  'an import of a type of a line below': {
    path: 'server/sinks/upward-type.ts',
    source: useType('../api/view.ts'),
    rule: IMPORTS,
    says: 'server/sinks may import',
  },
  'an import of main by a layer': { path: 'server/api/entry.ts', source: use('../main.ts'), rule: IMPORTS, says: 'server/api may import' },
  'an import of the demo by a layer': {
    path: 'server/runtime/demo.ts',
    source: use('../demo/fleet.ts'),
    rule: IMPORTS,
    says: 'server/runtime may import',
  },
  'an import of a working part by the fleet': {
    path: 'server/demo/shortcut.ts',
    source: use('../xds/part.ts'),
    rule: IMPORTS,
    says: 'a process of its own',
  },
  'an import of a value of the API by the CLI': {
    path: 'server/cli/shortcut.ts',
    source: use('../api/view.ts'),
    rule: IMPORTS,
    says: 'only types',
  },
  'an import of the UI by the core': {
    path: 'server/runtime/screen.ts',
    source: use('../../components/widget.tsx'),
    rule: IMPORTS,
    says: 'server/ knows no UI',
  },
  'an import of React by the core': {
    path: 'server/api/react.ts',
    source: "import { useState } from 'react'\n\nexport const used = useState\n",
    rule: IMPORTS,
    says: 'server/ knows no UI',
  },
  'a value of the API in a route': { path: 'app/values.ts', source: use('../server/api/view.ts'), rule: IMPORTS, says: TYPES_ONLY },
  'a value of the API in a component': {
    path: 'components/values.ts',
    source: use('../server/api/view.ts'),
    rule: IMPORTS,
    says: TYPES_ONLY,
  },
  'a value of a mechanism in a component': {
    path: 'components/mechanism.ts',
    source: use('../server/lib/mechanism.ts'),
    rule: IMPORTS,
    says: TYPES_ONLY,
  },
  'main in a route': { path: 'app/main.ts', source: use('../server/main.ts'), rule: IMPORTS, says: TYPES_ONLY },
  'a value of a schema in a component': {
    path: 'components/schema.ts',
    source: use('../server/model/noun-schema.ts'),
    rule: IMPORTS,
    says: NO_ZOD,
  },
  'a value of a kind in a route': {
    path: 'app/kind.ts',
    source: use('../server/model/kinds/kind-of-noun.ts'),
    rule: IMPORTS,
    says: NO_ZOD,
  },
  'the loader of kinds in a component': {
    path: 'components/kinds.ts',
    source: use('../server/model/load-kinds.ts'),
    rule: IMPORTS,
    says: NO_ZOD,
  },
  'an import of a route by a component': {
    path: 'components/route.ts',
    source: use('../app/screen.tsx'),
    rule: IMPORTS,
    says: 'components/ does not know routes',
  },
  'zod in a pure file of the model': {
    path: 'server/model/impure.ts',
    source: "import { z } from 'zod'\n\nexport const value = z.string()\n",
    rule: IMPORTS,
    says: 'the browser gets this file',
  },
  'node: in a pure file of the model': {
    path: 'server/model/node.ts',
    source: "import { join } from 'node:path'\n\nexport const value = join\n",
    rule: IMPORTS,
    says: 'the browser gets this file',
  },
  'a schema in a pure file of the model': {
    path: 'server/model/schema-user.ts',
    source: use('./noun-schema.ts'),
    rule: IMPORTS,
    says: 'the browser gets this file',
  },
  'a cycle': {
    path: 'server/lib/cycle-one.ts',
    source: "import { two } from './cycle-two.ts'\n\nexport const one = (): number => two()\n",
    rule: 'import(no-cycle)',
  },

  'Date.now()': { path: 'server/store/date-now.ts', source: expression('Date.now()'), rule: PROPERTIES, says: TIME },
  'now taken from Date': {
    path: 'server/store/date-now-taken.ts',
    source: 'const { now } = Date\n\nexport const value = now()\n',
    rule: PROPERTIES,
    says: TIME,
  },
  'new Date()': { path: 'server/store/new-date.ts', source: expression('new Date()'), rule: 'tidewatch(no-ambient-date)' },
  'Date()': { path: 'server/store/date-call.ts', source: expression('Date()'), rule: 'tidewatch(no-ambient-date)' },
  'Temporal.Now': { path: 'server/store/temporal.ts', source: expression('Temporal.Now.instant()'), rule: PROPERTIES, says: TIME },
  'performance.now()': { path: 'server/store/performance.ts', source: expression('performance.now()'), rule: GLOBALS, says: TIME },
  'performance from its module': {
    path: 'server/store/perf-hooks.ts',
    source: "import { performance } from 'node:perf_hooks'\n\nexport const value = performance.now()\n",
    rule: IMPORTS,
    says: TIME,
  },
  'process.hrtime': { path: 'server/store/hrtime.ts', source: expression('process.hrtime.bigint()'), rule: PROPERTIES, says: TIME },
  'process.uptime': { path: 'server/store/uptime.ts', source: expression('process.uptime()'), rule: PROPERTIES, says: TIME },
  setTimeout: { path: 'server/store/set-timeout.ts', source: expression('setTimeout(() => {}, 1)'), rule: GLOBALS, says: TIME },
  setInterval: { path: 'server/store/set-interval.ts', source: expression('setInterval(() => {}, 1)'), rule: GLOBALS, says: TIME },
  setImmediate: { path: 'server/store/set-immediate.ts', source: expression('setImmediate(() => {})'), rule: GLOBALS, says: TIME },
  'globalThis.setTimeout': {
    path: 'server/store/global-timeout.ts',
    source: expression('globalThis.setTimeout(() => {}, 1)'),
    rule: PROPERTIES,
    says: TIME,
  },
  'globalThis.setInterval': {
    path: 'server/store/global-interval.ts',
    source: expression('globalThis.setInterval(() => {}, 1)'),
    rule: PROPERTIES,
    says: TIME,
  },
  'globalThis.setImmediate': {
    path: 'server/store/global-immediate.ts',
    source: expression('globalThis.setImmediate(() => {})'),
    rule: PROPERTIES,
    says: TIME,
  },
  'AbortSignal.timeout': {
    path: 'server/store/abort-timeout.ts',
    source: expression('AbortSignal.timeout(1)'),
    rule: PROPERTIES,
    says: TIME,
  },
  'node:timers': {
    path: 'server/store/timers.ts',
    source: "import { setTimeout as later } from 'node:timers'\n\nexport const value = later\n",
    rule: IMPORTS,
    says: TIME,
  },
  'node:timers/promises': {
    path: 'server/store/timers-promises.ts',
    source: "import { setTimeout as sleep } from 'node:timers/promises'\n\nexport const value = sleep\n",
    rule: IMPORTS,
    says: TIME,
  },
  'a timer in main': {
    path: 'server/main.ts',
    source: MAIN,
    rule: GLOBALS,
    says: TIME,
  },
  'a timer in a unit test': {
    path: 'server/store/sleepy.test.ts',
    source: expression('setTimeout(() => {}, 1)'),
    rule: GLOBALS,
    says: TIME,
  },
  'Math.random()': { path: 'server/store/random.ts', source: expression('Math.random()'), rule: PROPERTIES, says: CHANCE },
  'crypto.randomUUID()': { path: 'server/store/uuid.ts', source: expression('crypto.randomUUID()'), rule: PROPERTIES, says: CHANCE },
  'randomUUID from its module': {
    path: 'server/store/uuid-module.ts',
    source: "import { randomUUID } from 'node:crypto'\n\nexport const value = randomUUID()\n",
    rule: IMPORTS,
    says: CHANCE,
  },

  'process.env outside of the config': {
    path: 'server/runtime/environment.ts',
    source: expression('process.env'),
    rule: PROPERTIES,
    says: 'server/runtime/config.ts only',
  },
  'env taken from process': {
    path: 'server/runtime/environment-taken.ts',
    source: 'const { env } = process\n\nexport const value = env\n',
    rule: PROPERTIES,
    says: 'server/runtime/config.ts only',
  },
  'env from its module': {
    path: 'server/runtime/environment-module.ts',
    source: "import { env } from 'node:process'\n\nexport const value = env\n",
    rule: IMPORTS,
    says: 'server/runtime/config.ts only',
  },
  'process.env in main': {
    path: 'server/main.ts',
    source: MAIN,
    rule: PROPERTIES,
    says: 'server/runtime/config.ts only',
  },
  'the clock in the config': { path: 'server/runtime/config.ts', source: CONFIG, rule: PROPERTIES, says: TIME },
  'console in the core': { path: 'server/store/console.ts', source: "console.log('x')\n", rule: 'eslint(no-console)' },
  'console in a component': { path: 'components/console.ts', source: "console.log('x')\n", rule: 'eslint(no-console)' },

  'a floating promise': {
    path: 'server/store/floating.ts',
    source: 'const work = async () => 1\nexport const start = () => {\n  work()\n}\n',
    rule: 'typescript(no-floating-promises)',
  },
  'a misused promise': {
    path: 'server/store/misused.ts',
    source: 'export const each = (items: readonly number[]) => items.forEach(async (item) => item)\n',
    rule: 'typescript(no-misused-promises)',
  },
  'a switch that misses a case': {
    path: 'server/store/switch.ts',
    source: "export function f(kind: 'a' | 'b'): void {\n  switch (kind) {\n    case 'a':\n      return\n  }\n}\n",
    rule: 'typescript(switch-exhaustiveness-check)',
  },
  'a hook behind a condition': {
    path: 'components/hook.ts',
    source:
      "import { useState } from 'react'\n\nexport function useMaybe(isWanted: boolean) {\n  return isWanted ? useState(0) : undefined\n}\n",
    rule: 'react-hooks(rules-of-hooks)',
  },
  'four parameters': {
    path: 'server/store/four.ts',
    source: 'export const f = (a: number, b: number, c: number, d: number) => a + b + c + d\n',
    rule: 'eslint(max-params)',
  },
  'a file name that is not kebab-case': { path: 'server/store/camelCase.ts', source: expression('1'), rule: 'unicorn(filename-case)' },
  any: { path: 'server/store/loose.ts', source: 'export const f = (x: any) => x\n', rule: 'typescript(no-explicit-any)' },
  'a default export': { path: 'components/default.tsx', source: 'export default 1\n', rule: 'import(no-default-export)' },
  'a value import of a type': {
    path: 'server/api/type-import.ts',
    source: "import { Thing } from './view.ts'\n\nexport type Used = Thing\n",
    rule: 'typescript(consistent-type-imports)',
  },
  'a missing extension': { path: 'server/store/extension.ts', source: use('./port'), rule: 'import(extensions)' },
  'a missing extension in the UI': { path: 'app/extension.ts', source: use('./screen'), rule: 'import(extensions)' },
}

/** The other side of each rule: what it must let through. */
const allowed: Readonly<Record<string, readonly [path: string, source: string]>> = {
  'an import of a line above': ['server/sinks/downward.ts', use('../store/port.ts')],
  'a folder of its own that is named like a layer': ['server/api/store/inner.ts', 'export const used = 1\n'],
  'the API in main': ['server/main-imports.ts', use('./api/view.ts')],
  'types of the API in the CLI': ['server/cli/types.ts', useType('../api/view.ts')],
  'types of the API in a route': ['app/types.ts', useType('../server/api/view.ts')],
  'types of a schema in a component': ['components/schema-types.ts', useType('../server/model/noun-schema.ts')],
  'values of a pure file of the model in a component': ['components/rules.ts', use('../server/model/noun.ts')],
  'types of a kind in a pure file of the model': ['server/model/kind-user.ts', useType('./kinds/kind-of-noun.ts')],
  'zod in a schema': ['server/model/some-schema.ts', "import { z } from 'zod'\n\nexport const value = z.string()\n"],
  'components in a route': ['app/uses-component.ts', use('../components/widget.tsx')],
  'a default export of a page': ['app/page.tsx', 'export default function Page() {\n  return null\n}\n'],
  'ambient time in the clock': ['server/lib/clock.ts', expression('[Date.now(), performance.now(), setTimeout(() => {}, 1)]')],
  'chance in its one home': [
    'server/lib/random.ts',
    "import { randomUUID } from 'node:crypto'\n\nexport const value = [Math.random(), randomUUID()]\n",
  ],
  'a date from a number': ['server/store/date-of.ts', expression('new Date(0)')],
  'real timers in a wire test': ['server/store/real.wire.test.ts', expression('setTimeout(() => {}, 1)')],
  'a measurement in a unit test': ['server/store/measure.test.ts', expression('performance.now()')],
  'real timers in the fleet': ['server/demo/timer.ts', expression('setTimeout(() => {}, 1)')],
  'console in a script': ['scripts/print.ts', "console.log('x')\n"],
}

describe('lint', () => {
  let scratch: ScratchRepository
  let reports: readonly { filename: string; code: string; message: string; help?: string }[] = []

  beforeAll(async () => {
    scratch = createScratchRepository({
      ...targets,
      'server/lib/cycle-two.ts': "import { one } from './cycle-one.ts'\n\nexport const two = (): number => one()\n",
      ...Object.fromEntries(Object.values(offences).map(({ path, source }) => [path, source])),
      ...Object.fromEntries(Object.values(allowed)),
    })
    const { output } = await runTool(scratch.root, pathOfTool('oxlint'), ['--format=json'])
    reports = (JSON.parse(output) as { diagnostics: typeof reports }).diagnostics
  })
  afterAll(() => scratch[Symbol.dispose]())

  test.each(Object.entries(offences))('reports %s', (_, { path, rule, says = '' }) => {
    const said = reports.filter(({ filename }) => filename === path).map(({ code, message, help }) => `${code}: ${message} ${help ?? ''}`)
    expect(said).toContainEqual(expect.stringMatching(new RegExp(`^${RegExp.escape(rule)}.*${RegExp.escape(says)}`, 's')))
  })

  test.each(Object.entries(allowed))('allows %s', (_, [path]) => {
    expect(reports.filter(({ filename }) => filename === path)).toEqual([])
  })

  test('allows process.env in the config, and nothing more', () => {
    expect(reports.filter(({ filename }) => filename === 'server/runtime/config.ts')).toHaveLength(1)
  })
})

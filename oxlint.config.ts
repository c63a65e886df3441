import { defineConfig, type OxlintOverride } from 'oxlint'

/** Each line may import the lines above it; siblings on one line never import each other. `npm run check` holds the drawing in docs/ARCHITECTURE.md against this. */
export const layers: readonly (readonly string[])[] = [
  ['lib'],
  ['model'],
  ['store', 'discovery', 'link'],
  ['telemetry'],
  ['settings'],
  ['sinks', 'xds', 'kds', 'kubernetes', 'kuma-api'],
  ['runtime'],
  ['api'],
]
/** Entries of processes, which no layer imports: main.ts may import all, the others lib, model, discovery (its pure sessions) and the types of api. */
export const outside: readonly (readonly string[])[] = [['main.ts'], ['cli', 'demo']]

const allLayers = layers.flat()
const separateProcesses = ['cli', 'demo']
/** `../x/...` from any depth of another folder of server/. */
const folderImport = (folders: readonly string[]) => `^(\\.\\./)+(server/)?(${folders.join('|')})/`

const time = 'time comes from the Clock (server/lib/clock.ts); pure code takes `now`'
const randomness = 'randomness is an argument; the real one is in server/lib/random.ts'
const environment = 'flags and environment are read in server/runtime/config.ts only'

const uiIsUnknown = {
  regex: '^((\\.\\./)+(app|components)/|next$|next/|react$|react/|react-dom)',
  message: 'server/ knows no UI',
}
/** Named imports of what the bans on globals would let through. */
const ambientModules = [
  { name: 'node:timers', message: time },
  { name: 'timers', message: time },
  { name: 'node:timers/promises', message: time },
  { name: 'timers/promises', message: time },
  { name: 'node:perf_hooks', importNames: ['performance'], message: time },
  { name: 'node:crypto', importNames: ['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues', 'webcrypto'], message: randomness },
  { name: 'node:process', message: 'process is a global; its `env` is read in server/runtime/config.ts only' },
]

const above = (layer: string) =>
  layers
    .slice(
      0,
      layers.findIndex((line) => line.includes(layer)),
    )
    .flat()
const importBans = (layer: string) => {
  const forbidden = allLayers.filter((other) => other !== layer && !above(layer).includes(other))
  const table = {
    regex: `${folderImport([...forbidden, ...separateProcesses])}|^(\\.\\./)+main\\.ts$`,
    message: `server/${layer} may import from server/: ${above(layer).join(', ') || 'nothing'} (layer table in oxlint.config.ts)`,
  }
  return { patterns: [table, uiIsUnknown], paths: ambientModules }
}
const layerRules = allLayers.map((layer): OxlintOverride => ({
  files: [`server/${layer}/**`],
  rules: { 'no-restricted-imports': ['error', importBans(layer)] },
}))
const unpure = ['kinds/**', 'load-kinds.ts', '**/*-schema.ts', '**/*.test.ts'].map((glob) => `server/model/${glob}`)
const pureModelRule: OxlintOverride = {
  files: ['server/model/**'],
  excludeFiles: unpure,
  rules: {
    'no-restricted-imports': [
      'error',
      {
        ...importBans('model'),
        patterns: [
          ...importBans('model').patterns,
          {
            regex: '^(zod$|zod/|node:)|^\\.{1,2}/(.*/)?(kinds/.*|load-kinds|[^/]*-schema)\\.ts$',
            allowTypeImports: true,
            message: 'the browser gets this file: zod and node: belong into x-schema.ts, kinds/ and load-kinds.ts',
          },
        ],
      },
    ],
  },
}
const separateProcessRules: OxlintOverride = {
  files: separateProcesses.map((folder) => `server/${folder}/**`),
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: folderImport(allLayers.filter((layer) => !['lib', 'model', 'discovery', 'api'].includes(layer))),
            message: 'a process of its own speaks the protocols: it imports lib, model, the pure sessions of discovery and types of api',
          },
          { regex: folderImport(['api']), allowTypeImports: true, message: 'only types: the API is called over HTTP' },
          uiIsUnknown,
        ],
      },
    ],
  },
}

const typesOfServerOnly = [
  {
    regex: `${folderImport([...allLayers.filter((layer) => layer !== 'model'), ...separateProcesses])}|^(\\.\\./)+server/[^/]+$`,
    allowTypeImports: true,
    message: 'the UI takes types from server/, and values from the pure files of server/model alone',
  },
  {
    regex: '^(\\.\\./)+server/model/(kinds/|load-kinds\\.ts$|(.*/)?[^/]*-schema\\.ts$)',
    allowTypeImports: true,
    message: 'this file carries zod or node: into the browser; take its types, and rules from the pure files of server/model',
  },
]

const restrictedProperties = [
  { object: 'Date', property: 'now', message: time },
  { object: 'performance', property: 'now', message: time },
  { object: 'Temporal', property: 'Now', message: time },
  { object: 'AbortSignal', property: 'timeout', message: `${time}; see deadlineSignal in server/lib/signals.ts` },
  { object: 'process', property: 'hrtime', message: time },
  { object: 'process', property: 'uptime', message: time },
  ...['globalThis', 'global'].flatMap((object) => [
    ...['setTimeout', 'setInterval', 'setImmediate', 'performance'].map((property) => ({ object, property, message: time })),
    { object, property: 'crypto', message: randomness },
  ]),
  { object: 'Math', property: 'random', message: randomness },
  ...['randomUUID', 'getRandomValues', 'randomBytes', 'randomInt'].map((property) => ({ object: 'crypto', property, message: randomness })),
]
const restrictedEnvironment = { object: 'process', property: 'env', message: environment }
const restrictedGlobals = ['setTimeout', 'setInterval', 'setImmediate', 'performance'].map((name) => ({ name, message: time }))

export default defineConfig({
  jsPlugins: ['./tools/oxlint-ambient-time.js'],
  plugins: ['typescript', 'import', 'unicorn', 'react', 'jsx-a11y', 'vitest', 'promise'],
  categories: { correctness: 'error', suspicious: 'error' },
  options: { typeAware: true },
  ignorePatterns: ['.next/**', 'node_modules/**', 'next-env.d.ts', 'server/gen/**'],
  env: { node: true, browser: true },
  rules: {
    'max-params': ['error', { max: 3 }],
    'no-console': 'error',
    'import/extensions': ['error', 'always', { ignorePackages: true }],
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'import/no-unassigned-import': ['error', { allow: ['**/*.css', '@fontsource-variable/*', 'server-only', 'reflect-metadata'] }],
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'unicorn/filename-case': ['error', { case: 'kebabCase' }],
    // Off: the compiler knows better, or it is a matter of taste.
    'eslint/no-await-in-loop': 'off',
    'eslint/no-shadow': 'off',
    'eslint/no-underscore-dangle': 'off',
    'eslint/no-unmodified-loop-condition': 'off',
    'import/no-named-as-default-member': 'off',
    'jsx-a11y/prefer-tag-over-role': 'off',
    'react/incompatible-library': 'off',
    'react/react-in-jsx-scope': 'off',
    'typescript/consistent-return': 'off',
    'typescript/no-unnecessary-type-parameters': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    // Our objects are closures: nothing has a `this` to lose.
    'typescript/unbound-method': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-array-sort': 'off',
    // It means windows; ours are worker threads.
    'unicorn/require-post-message-target-origin': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/expect-expect': ['error', { assertFunctionNames: ['expect*', 'assert*', 'fc.assert'] }],
  },
  overrides: [
    // A later entry replaces a rule of the same name, so all import bans of one folder stand in one entry.
    ...layerRules,
    pureModelRule,
    separateProcessRules,
    {
      files: ['server/**'],
      excludeFiles: ['server/lib/clock.ts', 'server/lib/random.ts', 'server/demo/**', 'server/**/*.wire.test.ts'],
      rules: {
        'tidewatch/no-ambient-date': 'error',
        'no-restricted-globals': ['error', ...restrictedGlobals],
        'no-restricted-properties': ['error', ...restrictedProperties, restrictedEnvironment],
      },
    },
    // A test may measure; waiting and chance it gets from its fakes.
    {
      files: ['server/**/*.test.ts'],
      excludeFiles: ['server/demo/**', 'server/**/*.wire.test.ts'],
      rules: {
        'no-restricted-globals': ['error', ...restrictedGlobals.filter(({ name }) => name !== 'performance')],
        'no-restricted-properties': [
          'error',
          ...restrictedProperties.filter(({ object, property }) => object !== 'performance' && property !== 'hrtime'),
          restrictedEnvironment,
        ],
      },
    },
    {
      files: ['server/lib/clock.ts', 'server/lib/random.ts'],
      rules: { 'no-restricted-imports': 'off', 'no-restricted-properties': ['error', restrictedEnvironment] },
    },
    { files: ['server/runtime/config.ts'], rules: { 'no-restricted-properties': ['error', ...restrictedProperties] } },
    { files: ['app/**', 'components/**'], rules: { 'react/rules-of-hooks': 'error' } },
    { files: ['app/**'], rules: { 'no-restricted-imports': ['error', { patterns: typesOfServerOnly }] } },
    {
      files: ['components/**'],
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: [...typesOfServerOnly, { regex: '^(\\.\\./)+app/', message: 'components/ does not know routes' }] },
        ],
      },
    },
    {
      files: ['app/**/{page,layout,loading,error,not-found,template,default,global-error}.tsx', '*.config.{ts,js}', 'tools/**'],
      rules: { 'import/no-default-export': 'off' },
    },
    { files: ['scripts/**', 'e2e/**', 'bench/**', 'server/cli/**', 'server/main.ts'], rules: { 'no-console': 'off' } },
    // Playwright reads a fixture's needs from the pattern of its first parameter, which may be empty.
    { files: ['e2e/**'], rules: { 'no-empty-pattern': 'off' } },
  ],
})

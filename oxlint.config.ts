import { defineConfig, type OxlintOverride } from 'oxlint'

/** Each line may import the lines above it; siblings on one line never import each other. The drawing in docs/ARCHITECTURE.md is checked against this. */
export const layers = [
  ['lib'],
  ['model'],
  ['store', 'discovery', 'link'],
  ['telemetry'],
  ['settings'],
  ['sinks', 'xds', 'kds', 'kubernetes', 'kuma-api'],
  ['runtime'],
  ['api'],
] as const

const above = (layer: string) =>
  layers
    .slice(
      0,
      layers.findIndex((line) => (line as readonly string[]).includes(layer)),
    )
    .flat()
const all = layers.flat()
const layerRules = all.map((layer): OxlintOverride => ({
  files: [`server/${layer}/**`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            group: all
              .filter((other) => other !== layer && !(above(layer) as readonly string[]).includes(other))
              .flatMap((other) => [`**/${other}/**`, `**/${other}.ts`]),
            message: `server/${layer} may import only: ${above(layer).join(', ') || 'nothing'} (layer table in oxlint.config.ts)`,
          },
          { group: ['**/app/**', '**/components/**', 'next', 'next/*', 'react', 'react-dom'], message: 'server/ knows no UI' },
        ],
        paths: [
          { name: 'node:timers/promises', message: 'time comes from the Clock (lib/clock.ts)' },
          { name: 'node:timers', message: 'time comes from the Clock (lib/clock.ts)' },
        ],
      },
    ],
  },
}))
const uiImports = [
  {
    group: [...all.filter((layer) => layer !== 'model').map((layer) => `**/server/${layer}/**`), '**/server/*.ts'],
    allowTypeImports: true,
    message: 'the UI takes types from server/, and values only from the pure files of server/model',
  },
  { group: ['**/server/model/**/*-schema.ts'], allowTypeImports: true, message: 'schemas carry zod: keep them out of the browser' },
]
const ambient = ['setTimeout', 'setInterval', 'setImmediate'].map((name) => ({ name, message: 'time comes from the Clock (lib/clock.ts)' }))

export default defineConfig({
  jsPlugins: ['./tools/oxlint-ambient-time.js'],
  plugins: ['typescript', 'import', 'unicorn', 'react', 'jsx-a11y', 'vitest', 'promise'],
  categories: { correctness: 'error', suspicious: 'error' },
  options: { typeAware: true },
  ignorePatterns: ['.next/**', 'node_modules/**', 'next-env.d.ts'],
  env: { node: true, browser: true },
  rules: {
    'max-params': ['error', { max: 3 }],
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'import/extensions': ['error', 'always', { ignorePackages: true }],
    'unicorn/filename-case': ['error', { case: 'kebabCase' }],
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-unsafe-type-assertion': 'off',
    'no-console': 'error',
    'react/react-in-jsx-scope': 'off',
    'eslint/no-await-in-loop': 'off',
  },
  overrides: [
    ...layerRules,
    {
      files: ['server/**'],
      excludeFiles: ['server/lib/clock.ts'],
      rules: {
        'tidewatch/no-ambient-date': 'error',
        'no-restricted-globals': ['error', ...ambient, { name: 'performance', message: 'time comes from the Clock (lib/clock.ts)' }],
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: 'pure code takes `now`; the rest has a Clock' },
          { object: 'Math', property: 'random', message: 'random is an argument' },
          { object: 'globalThis', property: 'setTimeout', message: 'time comes from the Clock' },
          { object: 'process', property: 'env', message: 'read in server/config.ts only' },
        ],
      },
    },
    { files: ['app/**'], rules: { 'no-restricted-imports': ['error', { patterns: uiImports }] } },
    {
      files: ['components/**'],
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: [...uiImports, { group: ['**/app/**'], message: 'components/ does not know routes' }] },
        ],
      },
    },
    {
      files: ['app/**/{page,layout,loading,error,not-found,template,default}.tsx', '*.config.{ts,js}', 'app/**/global-error.tsx'],
      rules: { 'import/no-default-export': 'off' },
    },
    {
      files: ['scripts/**', 'oxlint.config.ts', 'server/main.ts'],
      rules: { 'no-console': 'off', 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' },
    },
  ],
})

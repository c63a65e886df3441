import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { CoreError } from '../lib/errors.ts'
import type { Mesh } from '../model/kinds/mesh.ts'
import type { SettingValue } from '../model/views.ts'
import { toOverride, toSettingKey } from '../settings/setting-keys.ts'
import { checkValue } from '../settings/setting-rules.ts'
import { type ConfigFile, configFileSchema } from './config-schema.ts'

/** What this process was asked to be. Nothing else reads flags or the environment. */
export interface Config {
  readonly host: string
  /** 0 = any free port; so for the others. */
  readonly port: number
  readonly xdsPort: number
  readonly kdsPort: number
  readonly dataDir: string
  readonly store: 'memory' | 'sqlite'
  readonly mode: 'standalone'
  readonly demo: boolean
  /** Next's development server instead of the built pages. */
  readonly dev: boolean
  /** No pages: the API, metrics and xDS alone. */
  readonly noUi: boolean
  readonly logLevel: LogLevel
  /** First values of tunables, for what nobody changed. */
  readonly settings: Readonly<Record<string, SettingValue>>
  /** Made at the start if they are not there. */
  readonly meshes: readonly { readonly name: string; readonly spec: Mesh }[]
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Every flag that takes a value, with its environment variable and its default. The docs are checked against this. */
export const flags = {
  host: { env: 'TIDEWATCH_HOST', default: '127.0.0.1', about: 'where it listens; loopback only, until there is a login' },
  port: { env: 'TIDEWATCH_PORT', default: '7680', about: 'UI and API; 0 = any free port, so for the others' },
  'xds-port': { env: 'TIDEWATCH_XDS_PORT', default: '7678', about: 'where data planes connect' },
  'kds-port': { env: 'TIDEWATCH_KDS_PORT', default: '7685', about: 'reserved for zones; nothing listens there in this version' },
  'data-dir': { env: 'TIDEWATCH_DATA_DIR', default: 'data', about: "where the store's file is; one process at a time" },
  store: { env: 'TIDEWATCH_STORE', default: 'sqlite', about: 'sqlite or memory' },
  mode: { env: 'TIDEWATCH_MODE', default: 'standalone', about: 'the only one in this version' },
  zone: { env: 'TIDEWATCH_ZONE', default: '', about: 'belongs to a mode of a later version' },
  'global-address': { env: 'TIDEWATCH_GLOBAL_ADDRESS', default: '', about: 'belongs to a mode of a later version' },
  'log-level': { env: 'TIDEWATCH_LOG_LEVEL', default: 'info', about: 'trace, debug, info, warn, error, silent; JSON on stderr' },
} as const
type Flag = keyof typeof flags

/** Flags that are there or not. */
export const switches = {
  demo: 'throw-away data, a simulated fleet, faults on demand',
  'no-ui': 'the API, metrics and xDS alone',
  dev: 'pages rebuilt as they are edited',
} as const
type Switch = keyof typeof switches

type Environment = Readonly<Record<string, string | undefined>>

const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|::1|\[::1\])$/
const DEFAULT_MESHES = [{ name: 'default', spec: {} }]
/** Certificates of the demo live for a minute, so that their rotation meets the sink now and then. */
const DEMO_SETTINGS = { 'identity.certificateTtlMs': 60_000 }
/** What the simulated fleet lives in. */
const DEMO_MESHES = [
  { name: 'default', spec: { mtls: { enabledBackend: 'builtin' } } },
  { name: 'shop', spec: { mtls: { enabledBackend: 'builtin' } } },
] as const

/** Reads flags, environment and file, in this order of weight. Throws `invalid` with one line that says what would be right. */
export function readConfig(args: readonly string[], env: Environment): Config {
  const given = readFlags(args)
  // Set to nothing is not set: what compose files and unit files make of a variable nobody gave.
  const fromEnv = (name: string) => (env[name] === '' ? undefined : env[name])
  const path = given['config'] ?? fromEnv('TIDEWATCH_CONFIG')
  const file = path === undefined ? {} : readFile(String(path))
  const textOf = (flag: Flag) => String(given[flag] ?? fromEnv(flags[flag].env) ?? file[flag] ?? flags[flag].default)
  const isOn = (name: Switch) => given[name] === true || file[name] === true
  const demo = isOn('demo')

  return {
    host: hostOf(textOf('host')),
    port: portOf('port', textOf('port')),
    xdsPort: portOf('xds-port', textOf('xds-port')),
    kdsPort: portOf('kds-port', textOf('kds-port')),
    dataDir: textOf('data-dir'),
    store: storeOf(textOf('store')),
    mode: modeOf(textOf('mode'), [textOf('zone'), textOf('global-address')]),
    demo,
    dev: isOn('dev'),
    noUi: isOn('no-ui'),
    logLevel: logLevelOf(textOf('log-level')),
    settings: { ...(demo && DEMO_SETTINGS), ...file.settings },
    meshes:
      file.meshes?.map(({ name, mtls }) => ({ name, spec: mtls === undefined ? {} : { mtls } })) ?? (demo ? DEMO_MESHES : DEFAULT_MESHES),
  }
}

/** The same for this process: its own environment. */
export function readProcessConfig(args: readonly string[]): Config {
  return readConfig(args, process.env)
}

/** What `--help` prints. */
export function usage(): string {
  const line = (name: string, about: string) => `  --${name.padEnd(24)} ${about}\n`
  const takingValue = Object.entries(flags).map(([name, { env, default: initial, about }]) =>
    line(`${name} ${initial === '' ? 'VALUE' : initial}`, `${about} [${env}]`),
  )
  return [
    "Tidewatch: how fresh a control plane's status really is, and why it lags. Flags, with their defaults [and environment]:\n\n",
    ...takingValue,
    line('config FILE', 'YAML with the same names, and first values of tunables [TIDEWATCH_CONFIG]'),
    ...Object.entries(switches).map(([name, about]) => line(name, about)),
    '\nFlags win over the environment, that over the file. All of it: docs/CONFIGURATION.md\n',
  ].join('')
}

function readFlags(args: readonly string[]): Readonly<Record<string, string | boolean | undefined>> {
  const names = [...Object.keys(flags), 'config']
  try {
    return parseArgs({
      args: [...args],
      options: Object.fromEntries([
        ...names.map((name) => [name, { type: 'string' }] as const),
        ...Object.keys(switches).map((name) => [name, { type: 'boolean' }] as const),
      ]),
      // None is `multiple`, so no value is a list.
    }).values as Readonly<Record<string, string | boolean | undefined>>
  } catch (error) {
    const [line = ''] = (error as Error).message.split('. ')
    throw invalid(`${line}; known flags: ${[...names, ...Object.keys(switches)].map((flag) => `--${flag}`).join(' ')}`)
  }
}

function readFile(path: string): ConfigFile {
  let content: unknown
  try {
    content = parse(readFileSync(path, 'utf8')) ?? {}
  } catch (error) {
    throw invalid(`the config file ${path} can't be read: ${(error as Error).message.split('\n')[0]}`)
  }
  for (const part of ['watchers', 'kuma']) {
    if (typeof content === 'object' && content !== null && part in content)
      throw invalid(`${path}: "${part}" is not available in this version; remove it`)
  }
  const result = configFileSchema.safeParse(content)
  if (!result.success) {
    const [issue] = result.error.issues
    throw invalid(`${path}: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'is not valid'}`)
  }
  for (const [key, value] of Object.entries(result.data.settings ?? {})) checkFirstValue(path, key, value)
  return result.data
}

function checkFirstValue(path: string, key: string, value: SettingValue) {
  try {
    // Whether there is such a link is asked once there are links.
    const link = toOverride(key)?.link
    checkValue(toSettingKey(key, link === undefined ? [] : [link]), value)
  } catch (error) {
    throw invalid(`${path}: settings: ${(error as Error).message}`)
  }
}

function hostOf(host: string): string {
  if (LOOPBACK.test(host)) return host.replaceAll(/[[\]]/g, '')
  throw invalid(`--host ${host}: this version has no login yet, so it listens on loopback only (127.0.0.1, localhost or ::1)`)
}

function portOf(flag: string, text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw invalid(`--${flag} must be a port from 0 (any free one) to 65535, not "${text}"`)
}

function storeOf(store: string): Config['store'] {
  if (store === 'memory' || store === 'sqlite') return store
  if (store === 'kubernetes' || /^postgres(ql)?:/.test(store))
    throw invalid(`--store ${store.split(':')[0]} is not available in this version; use sqlite or memory`)
  throw invalid(`--store must be sqlite or memory, not "${store}"`)
}

function modeOf(mode: string, onlyElsewhere: readonly string[]): Config['mode'] {
  if (mode === 'zone' || mode === 'global') throw invalid(`--mode ${mode} is not available in this version; use standalone`)
  if (mode !== 'standalone') throw invalid(`--mode must be standalone, not "${mode}"`)
  if (onlyElsewhere.some((text) => text !== ''))
    throw invalid('--zone and --global-address belong to --mode zone, which is not available in this version')
  return mode
}

function logLevelOf(level: string): LogLevel {
  const known = logLevels.find((each) => each === level)
  if (known !== undefined) return known
  throw invalid(`--log-level must be one of ${logLevels.join(', ')}, not "${level}"`)
}

function invalid(message: string): CoreError {
  return new CoreError('invalid', message)
}

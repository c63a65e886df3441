import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { CoreError } from '../lib/errors.ts'
import type { WebhookConfig } from '../kds/admission-webhook.ts'
import type { GlobalAddress } from '../kds/zone-connector.ts'
import type { Mesh } from '../model/kinds/mesh.ts'
import type { SettingValue } from '../model/views.ts'
import type { KumaConfig } from '../kuma-api/kuma-config.ts'
import type { WatcherConfig } from '../kubernetes/watched-kind.ts'
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
  readonly mode: 'standalone' | 'global' | 'zone'
  /** Set in mode zone, and only there. */
  readonly zone: ZoneConfig | undefined
  /** PEM: zones connect with TLS. */
  readonly kdsTls: { readonly certificate: Buffer; readonly key: Buffer } | undefined
  readonly demo: boolean
  /** Next's development server instead of the built pages. */
  readonly dev: boolean
  /** No pages: the API, metrics and xDS alone. */
  readonly noUi: boolean
  readonly logLevel: LogLevel
  /** First values of tunables, for what nobody changed. */
  readonly settings: Readonly<Record<string, SettingValue>>
  /** A file; undefined: as kubectl finds it. */
  readonly kubeconfig: string | undefined
  readonly watchers: readonly WatcherConfig[]
  readonly kuma: readonly KumaConfig[]
  /** Made at the start if they are not there. */
  readonly meshes: readonly { readonly name: string; readonly spec: Mesh }[]
}

/** This process as a zone of a global control plane. */
export interface ZoneConfig {
  readonly name: string
  readonly global: GlobalAddress
  /** Asked before anything that comes from the global is stored. */
  readonly webhook: WebhookConfig | undefined
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Every flag that takes a value, with its environment variable and its default. The docs are checked against this. */
export const flags = {
  host: { env: 'TIDEWATCH_HOST', default: '127.0.0.1', about: 'where it listens; loopback only, until there is a login' },
  port: { env: 'TIDEWATCH_PORT', default: '7680', about: 'UI and API; 0 = any free port, so for the others' },
  'xds-port': { env: 'TIDEWATCH_XDS_PORT', default: '7678', about: 'where data planes connect' },
  'kds-port': { env: 'TIDEWATCH_KDS_PORT', default: '7685', about: 'where zones connect' },
  'data-dir': { env: 'TIDEWATCH_DATA_DIR', default: 'data', about: "where the store's file is; one process at a time" },
  store: { env: 'TIDEWATCH_STORE', default: 'sqlite', about: 'sqlite or memory' },
  mode: { env: 'TIDEWATCH_MODE', default: 'standalone', about: 'standalone, global, or zone' },
  zone: { env: 'TIDEWATCH_ZONE', default: '', about: 'with --mode zone: its name' },
  'global-address': {
    env: 'TIDEWATCH_GLOBAL_ADDRESS',
    default: '',
    about: 'with --mode zone: host:port of the global, grpcs://host:port for TLS',
  },
  'global-ca': {
    env: 'TIDEWATCH_GLOBAL_CA',
    default: '',
    about: 'PEM file of who signed the certificate of the global; "skip" trusts any',
  },
  'kds-tls-cert': { env: 'TIDEWATCH_KDS_TLS_CERT', default: '', about: 'PEM file: zones connect with TLS; with --kds-tls-key' },
  'kds-tls-key': { env: 'TIDEWATCH_KDS_TLS_KEY', default: '', about: 'PEM file of its key' },
  'log-level': { env: 'TIDEWATCH_LOG_LEVEL', default: 'info', about: 'trace, debug, info, warn, error, silent; JSON on stderr' },
} as const
type Flag = keyof typeof flags

/** Flags that are there or not. */
export const switches = {
  demo: 'throw-away data, a simulated fleet, zones and clusters, faults on demand',
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
    mode: modeOf(textOf('mode')),
    zone: zoneOf(textOf('mode'), textOf, file.webhook),
    kdsTls: tlsOf(textOf('kds-tls-cert'), textOf('kds-tls-key')),
    demo,
    dev: isOn('dev'),
    noUi: isOn('no-ui'),
    logLevel: logLevelOf(textOf('log-level')),
    kubeconfig: file.kubeconfig,
    watchers: file.watchers ?? [],
    kuma: file.kuma ?? [],
    settings: { ...(demo && DEMO_SETTINGS), ...file.settings },
    meshes: file.meshes?.map(({ name, mtls }) => ({ name, spec: mtls === undefined ? {} : { mtls } })) ?? meshesOf(textOf('mode'), demo),
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

function modeOf(mode: string): Config['mode'] {
  if (mode === 'standalone' || mode === 'global' || mode === 'zone') return mode
  throw invalid(`--mode must be standalone, global or zone, not "${mode}"`)
}

/** A zone gets its meshes from its global. */
function meshesOf(mode: string, demo: boolean): Config['meshes'] {
  if (mode === 'zone') return []
  return demo ? DEMO_MESHES : DEFAULT_MESHES
}

const ZONE_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const WEBHOOK_TIMEOUT_MS = 5_000

function zoneOf(mode: string, textOf: (flag: Flag) => string, webhook: ConfigFile['webhook']): ZoneConfig | undefined {
  const [name, address, ca] = (['zone', 'global-address', 'global-ca'] as const).map(textOf)
  if (mode !== 'zone') {
    if (name !== '' || address !== '' || ca !== '') throw invalid('--zone, --global-address and --global-ca belong to --mode zone')
    if (webhook !== undefined) throw invalid('webhook: only a zone asks one; it belongs to --mode zone')
    return undefined
  }
  if (name === undefined || !ZONE_NAME.test(name))
    throw invalid(
      `--mode zone needs --zone with its name, in lower case letters, digits, "-" and ".", for example --zone east; not "${name}"`,
    )
  return {
    name,
    global: globalOf(address ?? '', ca ?? ''),
    webhook: webhook && {
      url: webhook.url,
      timeoutMs: webhook.timeoutMs ?? WEBHOOK_TIMEOUT_MS,
      failurePolicy: webhook.failurePolicy ?? 'Fail',
    },
  }
}

function globalOf(address: string, ca: string): GlobalAddress {
  const match = /^(?:(grpcs?):\/\/)?([^/\s]+):(\d{1,5})$/.exec(address)
  const port = Number(match?.[3])
  if (match === null || port < 1 || port > 65_535)
    throw invalid(
      `--mode zone needs --global-address as host:port, grpc://host:port or grpcs://host:port, for example 127.0.0.1:7685; not "${address}"`,
    )
  const isSecure = match[1] === 'grpcs'
  if (!isSecure && ca !== '') throw invalid('--global-ca is for a --global-address that begins with grpcs://')
  const rootCertificate = ca === '' || ca === 'skip' ? undefined : fileOf('global-ca', ca)
  return { target: `${match[2]}:${port}`, tls: isSecure ? { rootCertificate, isVerified: ca !== 'skip' } : undefined }
}

function tlsOf(certificate: string, key: string): Config['kdsTls'] {
  if (certificate === '' && key === '') return undefined
  if (certificate === '' || key === '') throw invalid('--kds-tls-cert and --kds-tls-key belong together: one is missing')
  return { certificate: fileOf('kds-tls-cert', certificate), key: fileOf('kds-tls-key', key) }
}

function fileOf(flag: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw invalid(`--${flag}: ${path} can't be read: ${(error as Error).message}`)
  }
}

function logLevelOf(level: string): LogLevel {
  const known = logLevels.find((each) => each === level)
  if (known !== undefined) return known
  throw invalid(`--log-level must be one of ${logLevels.join(', ')}, not "${level}"`)
}

function invalid(message: string): CoreError {
  return new CoreError('invalid', message)
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flags, readConfig, switches, usage } from './config.ts'

describe('the configuration', () => {
  let folder: string
  let files = 0
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidewatch-config-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const fileOf = (text: string) => {
    const path = join(folder, `${++files}.yaml`)
    writeFileSync(path, text)
    return path
  }

  it('has the defaults that are documented', () => {
    expect(readConfig([], {})).toMatchObject({
      host: '127.0.0.1',
      port: 7680,
      xdsPort: 7678,
      kdsPort: 7685,
      dataDir: 'data',
      store: 'sqlite',
      mode: 'standalone',
      demo: false,
      logLevel: 'info',
    })
  })

  it('lets flags win over the environment, and that over the file', () => {
    const path = fileOf('port: 1\nxds-port: 1\nkds-port: 1\nsettings: { sink.dataplane.flushIntervalMs: 5000 }\n')
    const config = readConfig(['--config', path, '--port', '3'], { TIDEWATCH_PORT: '2', TIDEWATCH_XDS_PORT: '2' })
    expect(config).toMatchObject({ port: 3, xdsPort: 2, kdsPort: 1, settings: { 'sink.dataplane.flushIntervalMs': 5000 } })
  })

  it('takes every flag from the file by its name', () => {
    const path = fileOf('{ host: "::1", port: 1, data-dir: d, store: memory, log-level: warn, demo: true, no-ui: true, dev: true }')
    expect(readConfig(['--config', path], {})).toMatchObject({
      host: '::1',
      port: 1,
      dataDir: 'd',
      store: 'memory',
      logLevel: 'warn',
      demo: true,
      noUi: true,
      dev: true,
    })
  })

  it('takes a variable that is set to nothing as not set', () => {
    expect(readConfig([], { TIDEWATCH_PORT: '', TIDEWATCH_CONFIG: '', TIDEWATCH_ZONE: '' }).port).toBe(7680)
  })

  it('listens on an IPv6 loopback address, written with or without brackets', () => {
    expect(['::1', '[::1]'].map((host) => readConfig(['--host', host], {}).host)).toEqual(['::1', '::1'])
  })

  it('gives the demo meshes with certificates and a short life for them, unless the file says otherwise', () => {
    const plain = readConfig(['--demo'], {})
    expect(plain.meshes.map(({ name }) => name)).toEqual(['default', 'shop'])
    expect(plain.settings).toEqual({ 'identity.certificateTtlMs': 60_000 })
    const path = fileOf('settings: { identity.certificateTtlMs: 5000 }\nmeshes: [{ name: other }]')
    expect(readConfig(['--demo', '--config', path], {})).toMatchObject({
      meshes: [{ name: 'other', spec: {} }],
      settings: { 'identity.certificateTtlMs': 5000 },
    })
  })

  it('explains every flag on --help', () => {
    for (const flag of [...Object.keys(flags), ...Object.keys(switches), 'config']) expect(usage()).toContain(`--${flag} `)
  })

  it('takes meshes to make from the file', () => {
    const { meshes } = readConfig(['--config', fileOf('meshes: [{ name: secure, mtls: { enabledBackend: builtin } }]')], {})
    expect(meshes).toEqual([{ name: 'secure', spec: { mtls: { enabledBackend: 'builtin' } } }])
  })

  it('takes watchers from the file, and refuses what is no id, version or kind by saying what would be', () => {
    const watcher = 'id: nodes, apiVersion: v1, kind: Node'
    const read = (text: string) => readConfig(['--config', fileOf(text)], {})
    expect(read(`kubeconfig: /k\nwatchers: [{ ${watcher}, freshness: { path: .status.lastRun, cadenceMs: 1000 } }]`)).toMatchObject({
      kubeconfig: '/k',
      watchers: [{ id: 'nodes', apiVersion: 'v1', kind: 'Node', freshness: { path: '.status.lastRun', cadenceMs: 1000 } }],
    })
    expect(() => read(`watchers: [{ ${watcher} }, { ${watcher} }]`)).toThrow(/watchers: each id must be there once$/)
    expect(() => read('watchers: [{ id: a b, apiVersion: v1, kind: Node }]')).toThrow(/watchers\.0\.id: must be letters/)
    expect(() => read('watchers: [{ id: a, apiVersion: Node, kind: Node }]')).toThrow(/watchers\.0\.apiVersion: must be a version like v1/)
    expect(() => read('watchers: [{ id: a, apiVersion: v1, kind: nodes }]')).toThrow(/watchers\.0\.kind: must be a kind as in manifests/)
    expect(() => read(`watchers: [{ ${watcher}, names: x }]`)).toThrow(/names/)
  })

  const refused: Record<string, readonly [args: readonly string[], says: RegExp]> = {
    'an unknown flag': [['--prot', '1'], /--prot.*--port/],
    'a positional': [['serve'], /serve.*--port/],
    'a port that is none': [['--port', '70000'], /0 \(any free one\) to 65535.*70000/],
    'a port that is a word': [['--xds-port', 'x'], /--xds-port.*"x"/],
    'a store that is none': [['--store', 'redis'], /sqlite or memory.*redis/],
    'a store of a later version': [['--store', 'postgres://localhost/x'], /postgres is not available in this version/],
    'a mode that is none': [['--mode', 'hybrid'], /standalone, global or zone, not "hybrid"/],
    'a zone without a name': [['--mode', 'zone', '--global-address', 'x:1'], /needs --zone with its name/],
    'a zone without its global': [['--mode', 'zone', '--zone', 'east'], /needs --global-address as host:port/],
    'an authority where nothing is encrypted': [
      ['--mode', 'zone', '--zone', 'east', '--global-address', 'x:1', '--global-ca', 'skip'],
      /begins with grpcs:/,
    ],
    'half of a certificate': [['--kds-tls-cert', 'x.pem'], /belong together/],
    'a zone without its mode': [['--zone', 'east'], /--mode zone/],
    'a log level that is none': [['--log-level', 'loud'], /trace, debug/],
    'a Kubernetes store': [['--store', 'kubernetes'], /kubernetes is not available in this version/],
    'an address of a global without its mode': [['--global-address', 'x:1'], /belong to --mode zone/],
    'a flag without its value': [['--port'], /--port.*argument missing/],
    'an address others can reach': [['--host', '0.0.0.0'], /loopback only/],
    'a file that is not there': [['--config', '/nowhere/x.yaml'], /\/nowhere\/x.yaml can't be read/],
  }
  for (const [what, [args, says]] of Object.entries(refused)) {
    it(`refuses ${what} in one line that says what would be right`, () => {
      const refusal = () => readConfig(args, {})
      expect(refusal).toThrow(says)
      expect(refusal).toThrow(/^[^\n]+$/)
    })
  }

  it('refuses an unknown field of the file by name', () => {
    expect(() => readConfig(['--config', fileOf('prot: 1')], {})).toThrow(/prot/)
  })

  it('takes control planes to attach, every 10 s unless told otherwise, and names the field that is wrong', () => {
    const kuma = (entries: string) => () => readConfig(['--config', fileOf(`kuma: [${entries}]`)], {}).kuma
    const good = 'id: prod, url: "http://127.0.0.1:5681"'
    expect(kuma(`{ ${good} }`)()).toEqual([{ id: 'prod', url: 'http://127.0.0.1:5681', intervalMs: 10_000 }])
    expect(kuma(`{ ${good} }, { ${good} }`)).toThrow(/\.yaml: kuma: each id must be there once$/)
    expect(() => readConfig(['--config', fileOf(`watchers: [{ id: prod, apiVersion: v1, kind: Node }]\nkuma: [{ ${good} }]`)], {})).toThrow(
      /kuma: an id of watchers is there once more/,
    )
    expect(kuma('{ id: prod, url: "127.0.0.1:5681" }')).toThrow(/\.yaml: kuma\.0\.url: must be the address of its API, like http:/)
    expect(kuma(`{ ${good}, metricsUrl: x }`)).toThrow(/kuma\.0\.metricsUrl: must be the address of its metrics/)
    expect(kuma(`{ ${good}, intervalMs: 10 }`)).toThrow(/kuma\.0\.intervalMs: must be at least 1000/)
    expect(kuma(`{ ${good}, token: x }`)).toThrow(/kuma\.0: .*token/)
  })

  it('refuses a first value of a tunable as the settings would, naming the file', () => {
    const refusal = (settings: string) => () => readConfig(['--config', fileOf(`settings: { ${settings} }`)], {})
    expect(refusal('sink.dataplane.flushIntervalMs: 5')).toThrow(/\.yaml: settings: sink.*must be from 100 to 600000 ms; 5 is too small$/)
    expect(refusal('sink.dataplane.flushInterval: 5000')).toThrow(/\.yaml: settings: there is no setting.*flushIntervalMs/)
    expect(refusal('sink.dataplane.flushIntervalMs: [1]')).toThrow(/\.yaml: settings\.sink\.dataplane\.flushIntervalMs: /)
  })

  it('refuses a file that is no YAML, or no settings, in one line', () => {
    expect(() => readConfig(['--config', fileOf('port: [1')], {})).toThrow(/^the config file [^\n]*can't be read: [^\n]+$/)
    expect(() => readConfig(['--config', fileOf('- port')], {})).toThrow(/^[^\n]*\.yaml: the file: [^\n]+$/)
    expect(readConfig(['--config', fileOf('')], {}).port).toBe(7680)
  })
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

describe('the configuration', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidewatch-config-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  const fileOf = (text: string) => {
    const path = join(folder, `${text.length}.yaml`)
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

  it('takes meshes to make from the file', () => {
    const { meshes } = readConfig(['--config', fileOf('meshes: [{ name: secure, mtls: { enabledBackend: builtin } }]')], {})
    expect(meshes).toEqual([{ name: 'secure', spec: { mtls: { enabledBackend: 'builtin' } } }])
  })

  const refused: Record<string, readonly [args: readonly string[], says: RegExp]> = {
    'an unknown flag': [['--prot', '1'], /--prot.*--port/],
    'a positional': [['serve'], /serve.*--port/],
    'a port that is none': [['--port', '70000'], /0 \(any free one\) to 65535.*70000/],
    'a port that is a word': [['--xds-port', 'x'], /--xds-port.*"x"/],
    'a store that is none': [['--store', 'redis'], /sqlite or memory.*redis/],
    'a store of a later version': [['--store', 'postgres://localhost/x'], /postgres is not available in this version/],
    'a mode of a later version': [['--mode', 'zone'], /not available in this version/],
    'a zone without its mode': [['--zone', 'east'], /--mode zone/],
    'a log level that is none': [['--log-level', 'loud'], /trace, debug/],
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
    expect(() => readConfig(['--config', fileOf('watchers: []')], {})).toThrow(/watchers.*not available/)
  })
})

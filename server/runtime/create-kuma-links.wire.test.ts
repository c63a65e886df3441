import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type RecordedKuma, type Recording, startRecordedKuma } from '../kuma-api/testing/recorded-kuma.ts'
import { readConfig } from './config.ts'
import { createControlPlane } from './create-control-plane.ts'

const log = pino({ level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'tidewatch-kuma-'))
const tokenFile = join(folder, 'token')
let kuma: RecordedKuma
const stopping = new AbortController()
let ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.toReversed()) await end()
  ends = []
})

async function attach(recording: Recording, more = '') {
  kuma = await startRecordedKuma(recording)
  ends.push(kuma.stop)
  const path = join(folder, 'config.yaml')
  writeFileSync(path, `kuma: [{ id: prod, url: "${kuma.url}/", metricsUrl: "${kuma.url}/metrics", intervalMs: 1000${more} }]`)
  const controlPlane = await createControlPlane(
    readConfig(['--config', path, '--store', 'memory', '--xds-port', '0', '--kds-port', '0'], {}),
    log,
  )
  const end = new AbortController()
  const running = controlPlane.run(AbortSignal.any([end.signal, stopping.signal]))
  ends.push(async () => {
    end.abort()
    await running
    await controlPlane.close()
  })
  await controlPlane.listen()
  const until = (check: () => void) => vi.waitFor(check, { timeout: 10_000 })
  const rowOf = (type: string, mesh: string, name: string) => controlPlane.board.rows([{ type, mesh, name: `prod/${name}` }])[0]
  return { controlPlane, until, rowOf, link: () => controlPlane.links.get('prod') }
}

describe('an attached Kuma control plane', () => {
  it.each([
    ['v2.14-global', 8, 'zone-1/'],
    ['v2.14-zone', 8, ''],
    ['v3-global', 2, 'zone-1/'],
    ['v3-zone', 2, ''],
  ] as const)(
    'of %s is a link that polls; its insights are listed beside ours and its zones are remote streams',
    async (recording, count, prefix) => {
      const { controlPlane, until, rowOf, link } = await attach(recording)
      await until(() => expect(link().state.kind).toBe('live'))
      expect(link()).toMatchObject({ kind: 'poll', endpoint: kuma.url, health: 'healthy', requests: { 200: expect.any(Number) } })
      const { keys } = controlPlane.board.order({ type: 'DataplaneInsight' })
      expect(keys).toHaveLength(count)
      expect(rowOf('DataplaneInsight', 'default', `${prefix}gone-dp`)).toMatchObject({ source: 'prod', writer: 'unknown' })
      expect(controlPlane.remoteZones()).toMatchObject([{ source: 'prod', name: 'zone-1' }])
      expect(link().facts.map(({ title }) => title)).toEqual(['The control plane', 'Its intervals, read at its boot', 'Its metrics'])
    },
  )

  it('is told of with a hint when its token is bad, and read again when a new one is put in its place', async () => {
    writeFileSync(tokenFile, 'expired\n')
    const { until, link } = await attach('v2.14-zone', `, tokenFile: "${tokenFile}"`)
    await until(() => expect(link().health).toBe('degraded'))
    expect(link().lastError).toMatchObject({ class: 'unauthorized', message: expect.stringContaining('HTTP 401') })
    expect(link().lastError?.hint).toContain('no token at all may read everything')
    writeFileSync(tokenFile, 'good\n')
    await until(() => expect(link()).toMatchObject({ health: 'healthy', state: { kind: 'live' } }))
  })

  it('that goes down and comes back is live again; meanwhile nothing of it is called stale', async () => {
    const { controlPlane, until, rowOf, link } = await attach('v2.14-zone')
    await until(() => expect(link().state.kind).toBe('live'))
    expect(rowOf('DataplaneInsight', 'default', 'online-dp')?.freshness).toBe('fresh')
    await kuma.stop()
    controlPlane.links.retryNow('prod', 'ada')
    await until(() => expect(link().lastError).toMatchObject({ class: 'network' }))
    expect(link().lastError?.hint).toContain('Nothing listens at')
    controlPlane.links.pause('prod', 'ada')
    await until(() => expect(rowOf('DataplaneInsight', 'default', 'online-dp')?.freshness).toBe('unknown'))
    await kuma.start()
    controlPlane.links.resume('prod', 'ada')
    await until(() => expect(link().state.kind).toBe('live'))
    await until(() => expect(rowOf('DataplaneInsight', 'default', 'online-dp')?.freshness).toBe('fresh'))
  })

  it('that asks for fewer requests is left alone for as long as it says', async () => {
    const { controlPlane, until, link } = await attach('v3-zone')
    await until(() => expect(link().state.kind).toBe('live'))
    kuma.failWith = { code: 429, headers: { 'retry-after': '60' } }
    controlPlane.links.retryNow('prod', 'ada')
    await until(() => expect(link().state).toMatchObject({ kind: 'waiting', cause: 'throttled' }))
    expect((link().state.until ?? 0) - controlPlane.clock.now()).toBeGreaterThan(50_000)
  })

  it('is read page by page, by offset alone, however its address is written behind a proxy', async () => {
    const { controlPlane, until, link } = await attach('v2.14-zone')
    await until(() => expect(link().state.kind).toBe('live'))
    const [row] = kuma.answers['/meshes/default/dataplanes/_overview'] as readonly Record<string, unknown>[]
    kuma.answers['/meshes/default/dataplanes/_overview'] = Array.from({ length: 2_300 }, (_, n) => ({ ...row, name: `dp-${n}` }))
    controlPlane.links.retryNow('prod', 'ada')
    await until(() => expect(controlPlane.board.order({ type: 'DataplaneInsight' }).keys).toHaveLength(2_300))
    expect(kuma.requests.filter((path) => path.includes('offset='))).toContain('/meshes/default/dataplanes/_overview?size=1000&offset=2000')
  })
})

import 'reflect-metadata'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LinkRow } from '../model/link-row.ts'
import { readConfig } from './config.ts'
import { createControlPlane, type RunningControlPlane } from './create-control-plane.ts'

const TOKEN = 't'
/** Short, so that what takes minutes takes seconds here; still in the order the product has them in. */
const SETTINGS = {
  'link.baseBackoffMs': 200,
  'link.maxBackoffMs': 2_000,
  'link.unhealthyAfterMs': 3_000,
  'link.probeBaseMs': 100,
  'link.probeMaxMs': 500,
}

let port: number
let folder: string
let simulation: ChildProcess
let controlPlane: RunningControlPlane
let stopping: AbortController
let running: Promise<void>

beforeEach(async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  port = (probe.address() as AddressInfo).port
  await once(probe.close(), 'close')
  folder = mkdtempSync(join(tmpdir(), 'tidewatch-simulated-'))
  await startSimulation()
  await startWatching(SETTINGS)
  await expectLive()
})

afterEach(async () => {
  stopping.abort()
  await running
  await controlPlane.close()
  simulation.kill('SIGKILL')
})

async function startSimulation(...flags: readonly string[]) {
  simulation = spawn(
    process.execPath,
    [join(import.meta.dirname, '../demo/kube-api.ts'), '--token', TOKEN, '--clusters', `prod=${port}`, ...flags],
    {
      stdio: ['ignore', 2, 2, 'ipc'],
    },
  )
  await once(simulation, 'message')
}

async function startWatching(settings: Readonly<Record<string, number>>, cluster: object = { server: `http://127.0.0.1:${port}` }) {
  writeFileSync(
    join(folder, 'kubeconfig'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'prod',
      clusters: [{ name: 'prod', cluster }],
      users: [{ name: 'us', user: { token: TOKEN } }],
      contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'us' } }],
    }),
  )
  writeFileSync(
    join(folder, 'config.yaml'),
    JSON.stringify({
      kubeconfig: join(folder, 'kubeconfig'),
      watchers: [
        { id: 'nodes', apiVersion: 'v1', kind: 'Node' },
        { id: 'pods', apiVersion: 'v1', kind: 'Pod' },
        { id: 'leases', apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
        { id: 'backups', apiVersion: 'example.com/v1', kind: 'Backup' },
        { id: 'deployments', apiVersion: 'apps/v1', kind: 'Deployment' },
        { id: 'jobs', apiVersion: 'batch/v1', kind: 'CronJob', freshness: { path: '.status.lastSuccessfulTime', cadenceMs: 600_000 } },
        { id: 'hasty-jobs', apiVersion: 'batch/v1', kind: 'CronJob', freshness: { path: '.status.lastSuccessfulTime', cadenceMs: 100 } },
        { id: 'data-planes', apiVersion: 'kuma.io/v1alpha1', kind: 'DataplaneInsight' },
      ],
      settings,
    }),
  )
  const flags = ['--config', join(folder, 'config.yaml'), '--store', 'memory', '--xds-port', '0', '--kds-port', '0']
  controlPlane = await createControlPlane(readConfig(flags, {}), pino({ level: 'silent' }))
  stopping = new AbortController()
  running = controlPlane.run(stopping.signal)
  await controlPlane.listen()
}

const set = (fault: string, active: boolean) => void simulation.send({ kind: 'set', fault, active })
const row = (id: string) => controlPlane.links.row(id) as LinkRow
const until = (condition: () => void, timeout = 10_000) => vi.waitFor(condition, { timeout, interval: 20 })
const expectLive = (...ids: readonly string[]) =>
  until(() => {
    for (const id of ids.length === 0 ? ['nodes', 'pods', 'leases'] : ids)
      expect(row(id)).toMatchObject({ state: { kind: 'live' }, health: 'healthy' })
  })

describe('a simulated API server, watched by the whole product over HTTP', () => {
  it('is waited for by all when it is down: one probes, the others wait for its probe, and all are live again', async () => {
    set('kube-down', true)
    await until(() => {
      const waiting = ['nodes', 'pods', 'leases'].map(row)
      expect(waiting.filter(({ probing }) => probing)).toHaveLength(1)
      expect(waiting.filter(({ waitingFor }) => waitingFor !== null)).toHaveLength(2)
    })
    await until(() => expect(row('pods')).toMatchObject({ health: 'unhealthy', lastError: { class: 'network' } }))
    set('kube-down', false)
    await expectLive()
    // Its versions were kept: nothing was read again.
    expect(row('pods').relists).toEqual({ start: 1 })
  })

  it('that forbids one kind degrades that watcher alone, at once, with the rule to paste; and a kind it does not have is another matter', async () => {
    set('kube-forbidden', true)
    await until(() => expect(row('pods')).toMatchObject({ health: 'degraded', lastError: { class: 'forbidden' } }), 2_000)
    expect(row('pods').lastError?.hint).toMatch(/resources: \[\s*"?pods"?\s*\][\s\S]*verbs/)
    await expectLive('nodes', 'leases')
    expect(row('pods').health).toBe('degraded')
    expect(row('backups')).toMatchObject({ health: 'degraded', lastError: { class: 'not_found', hint: expect.stringContaining('Backup') } })
    set('kube-forbidden', false)
    await expectLive('pods')
  })

  it('that answers every watch with 410 is listed again, and not in a hot loop', async () => {
    set('kube-gone', true)
    await until(() => expect(row('pods').relists['gone']).toBeGreaterThanOrEqual(2))
    const [before, at] = [row('pods').requests['200'] ?? 0, process.uptime()]
    await until(() => expect(row('pods').relists['gone']).toBeGreaterThanOrEqual(4))
    const perSecond = ((row('pods').requests['200'] ?? 0) - before) / (process.uptime() - at)
    expect(perSecond).toBeLessThan(5)
    set('kube-gone', false)
    await expectLive()
  })

  it('that ends each watch at once is asked ever more seldom, and what it held is kept', async () => {
    set('kube-closing', true)
    await until(() => expect(row('pods').state).toMatchObject({ kind: 'waiting', attempt: 5, cause: 'closed_early' }))
    // Waits of 0.2, 0.4, 0.8 and 1.6 s led here: one watch a wait.
    expect(row('pods').requests['200']).toBeLessThan(12)
    expect(row('pods')).toMatchObject({ relists: { start: 1 }, objects: 20 })
    set('kube-closing', false)
    await expectLive()
  }, 20_000)

  it('that is asked to end is followed for as long as it holds its watches, then waited for, and nothing is read again', async () => {
    const { stateSince } = row('leases')
    set('kube-stopping', true)
    await until(() => expect(row('leases').lastEventAt ?? 0).toBeGreaterThan(stateSince + 5_000), 15_000)
    expect(row('leases')).toMatchObject({ state: { kind: 'live' }, stateSince, health: 'healthy', lastError: null })
    await until(() => expect(row('leases')).toMatchObject({ state: { kind: 'waiting' }, lastError: { class: 'network' } }), 20_000)
    set('kube-stopping', false)
    await expectLive()
    expect(row('leases').relists).toEqual({ start: 1 })
  }, 60_000)

  it('that throttles is left alone as long as it asks', async () => {
    set('kube-throttled', true)
    await until(() => {
      const { state, lastError } = row('pods')
      expect(lastError).toMatchObject({ class: 'throttled' })
      expect(state.kind).toBe('waiting')
      expect((state.until ?? 0) - (lastError?.at ?? 0)).toBeGreaterThan(4_900)
    })
    set('kube-throttled', false)
    await expectLive()
    expect(row('pods').relists).toEqual({ start: 1 })
  }, 20_000)

  it('from an old backup is read again from nothing, and its lower versions are followed', async () => {
    set('kube-restored', true)
    await until(() => expect(row('pods').relists['future_version']).toBe(1), 15_000)
    await expectLive('pods')
    const before = row('leases').lastEventAt ?? 0
    await until(() => expect(row('leases').lastEventAt ?? 0).toBeGreaterThan(before), 15_000)
  }, 40_000)

  it('has nodes that are judged by their leases while those are seen, and by the status of their kubelets while they are not', async () => {
    const node = () => controlPlane.board.rows([{ type: 'Node', mesh: '', name: 'nodes/prod-node-1' }])[0]
    await until(() => expect(node()?.heartbeatMs).toBeCloseTo(40_000 / 3))
    controlPlane.links.pause('leases', 'ada')
    await until(() => expect(node()).toMatchObject({ freshness: 'fresh', heartbeatMs: 300_000 }))
    controlPlane.links.resume('leases', 'ada')
    await until(() => expect(node()?.heartbeatMs).toBeCloseTo(40_000 / 3))
  })

  const seen = (type: string, name: string) => controlPlane.board.rows([{ type, mesh: '', name }])[0]

  it('has deployments whose status waits for a controller that is stuck', async () => {
    const checkout = () => seen('Deployment', 'deployments/shop/checkout')
    await until(() => expect(checkout()).toMatchObject({ freshness: 'fresh', pendingSince: null }))
    set('kube-unobserved', true)
    await until(() => expect(checkout()?.pendingSince).not.toBeNull())
    set('kube-unobserved', false)
    await until(() => expect(checkout()?.pendingSince).toBeNull())
  })

  it('has two managers that write one part in turn, and they are named', async () => {
    const key = { type: 'Deployment', mesh: '', name: 'deployments/shop/payments' }
    await until(() => expect(seen(key.type, key.name)).toBeDefined())
    set('kube-contended', true)
    await until(
      () =>
        expect(controlPlane.board.observed(key)?.note).toMatch(
          /(argocd-controller and kustomize-controller|kustomize-controller and argocd-controller) write it in turn/,
        ),
      20_000,
    )
    set('kube-contended', false)
  }, 30_000)

  it('has jobs that are judged by a moment in them and a cadence, and data planes of Kuma by the generation of their subscription', async () => {
    await until(() => expect(seen('CronJob', 'jobs/shop/prune-carts')).toMatchObject({ freshness: 'fresh', heartbeatMs: 600_000 }))
    await until(() => expect(seen('CronJob', 'hasty-jobs/shop/prune-carts')).toMatchObject({ freshness: 'stale', heartbeatMs: 100 }))
    await until(() =>
      expect(seen('DataplaneInsight', 'data-planes/shop/cart-v1')).toMatchObject({
        freshness: 'fresh',
        heartbeatMs: 150_000,
        writer: 'kuma-cp',
      }),
    )
  })

  it('that is killed in the middle and started again is followed again, what is gone with it goes', async () => {
    simulation.kill('SIGKILL')
    await until(() => expect(row('pods').state.kind).toBe('waiting'))
    await startSimulation()
    await expectLive()
    expect(row('pods').objects).toBe(20)
  }, 20_000)
})

it('a connection that is half open is given up after the idle limit, and nothing is read again', async () => {
  stopping.abort()
  await running
  await controlPlane.close()
  await startWatching({ ...SETTINGS, 'watch.serverTimeoutMs': 6_000, 'watch.idleTimeoutMs': 7_000 })
  await expectLive()
  set('kube-silent', true)
  await until(() => expect(row('pods').lastError).toMatchObject({ class: 'idle' }), 12_000)
  set('kube-silent', false)
  await expectLive()
  expect(row('pods').relists).toEqual({ start: 1 })
}, 30_000)

/** In the folder: of a server at 127.0.0.1, signed by itself. */
async function writeCertificate() {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=simulated',
    notBefore: new Date(Date.UTC(2020, 0)),
    notAfter: new Date(Date.UTC(2120, 0)),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  })
  const [cert, key] = [join(folder, 'server.crt'), join(folder, 'server.key')]
  writeFileSync(cert, certificate.toString('pem'))
  writeFileSync(key, PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'))
  return { cert, key }
}

it('a simulated API server with a certificate is watched over TLS, and one that is not trusted is named', async () => {
  const { cert, key } = await writeCertificate()
  const server = `https://127.0.0.1:${port}`
  const restart = async (cluster: object) => {
    stopping.abort()
    await running
    await controlPlane.close()
    await startWatching(SETTINGS, cluster)
  }
  simulation.kill('SIGKILL')
  await startSimulation('--tls-cert', cert, '--tls-key', key)
  await restart({ server, 'certificate-authority': cert })
  await expectLive()
  await restart({ server })
  await until(() =>
    expect(row('pods')).toMatchObject({
      health: 'degraded',
      lastError: { class: 'unauthorized', hint: expect.stringMatching(/certificate/) },
    }),
  )
}, 20_000)

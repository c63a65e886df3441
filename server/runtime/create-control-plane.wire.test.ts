import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DataplaneInsight } from '../model/insight.ts'
import { loadProtos } from '../xds/protos.ts'
import { CLUSTER, LISTENER } from '../xds/resource-types.ts'
import { nodeOf, openRaw, plainDataplane, type RawStream } from '../xds/testing/raw-client.ts'
import { readConfig } from './config.ts'
import { createControlPlane, type RunningControlPlane } from './create-control-plane.ts'

const INTERVAL = 'sink.dataplane.flushIntervalMs'
const protos = loadProtos()
const ending: (() => Promise<void>)[] = []
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidewatch-core-'))
})
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end()
  rmSync(folder, { recursive: true })
})

/** A whole core, listening. */
async function start(args: readonly string[] = ['--store', 'memory']) {
  const config = readConfig(['--port', '0', '--xds-port', '0', '--data-dir', folder, ...args], {})
  const core = await createControlPlane(config, pino({ level: 'silent' }))
  const stopping = new AbortController()
  const running = core.run(stopping.signal)
  await core.listen()
  const stop = async () => {
    stopping.abort()
    await running
    await core.close()
  }
  ending.push(stop)
  return {
    core,
    async stop() {
      ending.splice(ending.indexOf(stop), 1)
      await stop()
    },
  }
}

async function connect(core: RunningControlPlane, name: string): Promise<RawStream> {
  const stream = openRaw(protos, core.self().xds)
  ending.push(async () => {
    stream.cancel()
    await stream.ended
  })
  stream.write({ type_url: CLUSTER, node: nodeOf(`default.${name}`, plainDataplane('web', 18_001)) })
  const { nonce, version_info } = await stream.answer(0)
  stream.write({ type_url: CLUSTER, response_nonce: nonce, version_info })
  return stream
}
const insightKey = (name: string) => ({ type: 'DataplaneInsight', mesh: 'default', name })
const insightOf = (core: RunningControlPlane, name: string) => core.store.get<DataplaneInsight>(insightKey(name))

/** Values of one metric by its labels as they are printed. */
async function scrape(core: RunningControlPlane, name: string): Promise<Readonly<Record<string, number>>> {
  const lines = (await core.metricsText()).split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  return Object.fromEntries(
    lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

describe('a data plane of a fresh Tidewatch', () => {
  it('connects to the mesh that is there from the start, is stored at once, and is fresh', async () => {
    const { core } = await start()
    await connect(core, 'web-1')
    await vi.waitFor(() =>
      expect(core.board.rows([insightKey('web-1')])).toMatchObject([{ online: true, freshness: 'fresh', pendingMs: 0 }]),
    )
    expect((await insightOf(core, 'web-1')).spec.subscriptions).toHaveLength(1)
    expect(core.counters()).toMatchObject({ sessions: { xds: 1, kds: 0 }, rejecting: 0, storeProblem: null })
  })

  it('that goes away has its last status stored with the time it went', async () => {
    const { core } = await start()
    const stream = await connect(core, 'web-1')
    stream.call.end()
    await vi.waitFor(async () => expect((await insightOf(core, 'web-1')).spec.subscriptions[0]?.disconnectedAt).toEqual(expect.any(Number)))
    await vi.waitFor(() => expect(core.board.rows([insightKey('web-1')])).toMatchObject([{ online: false, freshness: 'offline' }]))
  })
})

describe('what pages and scrapers are told', () => {
  it('are the same numbers, after flushes, rejections and conflicts', async () => {
    const { core } = await start(['--store', 'sqlite'])
    for (const value of [1_000, 100])
      await core.settings.apply({ key: INTERVAL, value, expectedVersion: core.settings.get(INTERVAL).version, by: 'test' })
    const stream = await connect(core, 'web-1')
    await connect(core, 'web-2')
    stream.write({ type_url: LISTENER })
    const { nonce } = await stream.answer(1)
    stream.write({ type_url: LISTENER, response_nonce: nonce, error_detail: { code: 3, message: 'no such listener' } })
    await vi.waitFor(() => expect(core.counters().rejecting).toBe(1))
    // Another writer keeps changing what the sink writes, until the two have met.
    for (let settled = 0; settled === 0; settled = core.conflicts.matrix().reduce((sum, { benign }) => sum + benign, 0)) {
      const { spec, ...present } = await insightOf(core, 'web-1')
      const at = core.clock.now()
      const mtls = { certificateExpiresAt: at, certificateRegeneratedAt: at, certificateRegenerations: 1, issuedBackend: 'x' }
      await core.store.update({ ...present, spec: { ...spec, mtls } }, { writer: 'other' }).catch(() => undefined)
      stream.write({ type_url: LISTENER, resource_names: [String(at)], response_nonce: nonce })
    }

    // What settles between the two reads would make them differ.
    await vi.waitFor(async () => {
      const [sink] = core.sinks()
      const flushes = await scrape(core, 'tidewatch_sink_flushes_total')
      for (const result of ['written', 'unchanged', 'conflict', 'error'] as const)
        expect(flushes[`{sink="dataplane",result="${result}"}`]).toBe(sink?.flushes[result])
      expect(sink?.flushes.written).toBeGreaterThan(1)
      expect(sink?.flushes.conflict).toBeGreaterThan(0)
      const cells = core.conflicts
        .matrix()
        .flatMap(({ writer, lostTo, type, benign, harmful }) =>
          Object.entries({ benign, harmful }).map(
            ([severity, count]) => [`{writer="${writer}",lost_to="${lostTo}",type="${type}",severity="${severity}"}`, count] as const,
          ),
        )
      expect(await scrape(core, 'tidewatch_store_conflicts_total')).toEqual(Object.fromEntries(cells.filter(([, count]) => count > 0)))
    })
    expect(await scrape(core, 'tidewatch_sessions')).toEqual({ '{protocol="xds"}': 2, '{protocol="kds"}': 0 })
    expect(await scrape(core, 'tidewatch_sink_sessions')).toMatchObject({ '{sink="dataplane"}': 2 })
    expect(await scrape(core, 'tidewatch_sink_flush_interval_seconds')).toMatchObject({ '{sink="dataplane"}': 0.1 })
    expect(await scrape(core, 'tidewatch_settings_changes_total')).toMatchObject({ [`{key="${INTERVAL}",result="applied"}`]: 2 })
    expect(await scrape(core, 'tidewatch_xds_first_config_seconds_count')).toEqual({ '{type="CDS"}': 2 })
    expect(await scrape(core, 'tidewatch_discovery_responses_total')).toMatchObject({ '{protocol="xds",type="LDS",result="nack"}': 1 })
    expect(await scrape(core, 'tidewatch_unhandled_rejections_total')).toEqual({ '': 0 })
    const summary = core.board.summary()
    const insights = await scrape(core, 'tidewatch_insights')
    expect(Object.values(insights).reduce((sum, count) => sum + count, 0)).toBe(
      Object.values(summary)
        .flatMap((levels) => Object.values(levels))
        .reduce((sum, count) => sum + count, 0),
    )
  })
})

describe('a Tidewatch that is started again on its folder', () => {
  it('has the settings, their history and the insights of before', async () => {
    const first = await start(['--store', 'sqlite'])
    await first.core.settings.apply({ key: INTERVAL, value: 1_000, expectedVersion: '0', by: 'ada', reason: 'rush hour' })
    await connect(first.core, 'web-1')
    await vi.waitFor(async () => expect(first.core.settings.history()[0]?.effect).not.toBeNull())
    await vi.waitFor(() => insightOf(first.core, 'web-1'))
    const [settings, history] = [first.core.settings.list(), first.core.settings.history()]
    await first.stop()

    const { core } = await start(['--store', 'sqlite'])
    expect(core.settings.list()).toEqual(settings)
    expect(core.settings.history()).toEqual(history)
    expect(history).toMatchObject([
      { key: INTERVAL, from: 10_000, to: 1_000, by: 'ada', reason: 'rush hour', effect: { sessions: expect.any(Number) } },
    ])
    expect(core.board.rows([insightKey('web-1')])).toMatchObject([{ online: false }])
    expect(core.sinks()[0]).toMatchObject({ name: 'dataplane', intervalMs: 1_000 })
  })

  it('keeps a mesh as operators left it, and makes one that is missing', async () => {
    const first = await start(['--store', 'sqlite'])
    const mesh = await first.core.store.get({ type: 'Mesh', mesh: '', name: 'default' })
    await first.core.store.update({ ...mesh, spec: { mtls: { enabledBackend: 'builtin' } } }, { writer: 'operator' })
    await first.stop()
    const { core } = await start(['--store', 'sqlite'])
    expect((await core.store.get({ type: 'Mesh', mesh: '', name: 'default' })).spec).toEqual({ mtls: { enabledBackend: 'builtin' } })
  })
})

describe('readiness', () => {
  it('is given once everything listens, and taken back when it is asked to stop', async () => {
    const core = await createControlPlane(readConfig(['--store', 'memory', '--xds-port', '0'], {}), pino({ level: 'silent' }))
    expect(core.notReadyBecause()).toEqual(['xDS does not listen yet'])
    const stopping = new AbortController()
    const running = core.run(stopping.signal)
    await core.listen()
    expect(core.notReadyBecause()).toEqual([])
    stopping.abort()
    expect(core.notReadyBecause()).toEqual(['it is stopping'])
    await running
    await core.close()
  })
})

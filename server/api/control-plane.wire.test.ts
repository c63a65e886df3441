import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTRPCClient, createWSClient, httpBatchLink, splitLink, wsLink } from '@trpc/client'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { DataplaneInsight } from '../model/insight.ts'
import type { Resource } from '../model/resource.ts'
import { isLinkFrame } from '../model/live-frames.ts'
import type { LiveFrame } from '../model/views.ts'
import { readConfig } from '../runtime/config.ts'
import { createControlPlane, type RunningControlPlane } from '../runtime/create-control-plane.ts'
import { type ApiHandler, createApiHandler } from './http-handler.ts'
import type { AppRouter } from './router.ts'

/** The API over the real core, as pages and scripts meet it. */
const log = pino({ level: 'silent' })
const key = { type: 'DataplaneInsight', mesh: 'default', name: 'web-1' }
const writer = { writer: 'test' }
let core: RunningControlPlane
let api: ApiHandler
let server: Server
let origin: string
let stopping: AbortController
let running: Promise<void>

beforeEach(async () => {
  core = await createControlPlane(readConfig(['--store', 'memory', '--port', '0', '--xds-port', '0', '--log-level', 'silent'], {}), log)
  stopping = new AbortController()
  running = core.run(stopping.signal)
  await core.listen()
  await core.board.ready()
  api = createApiHandler(core, { logger: log })
  server = createServer((req, res) => void api.request(req, res))
  server.on('upgrade', (req, socket, head) => void api.upgrade(req, socket, head))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  await api.close()
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
  stopping.abort()
  await running
  await core.close()
})

function expectNothingLeft(): Promise<void> {
  return expect.poll(() => api.stats()).toEqual({ sockets: 0, bufferedBytes: 0, subscriptions: 0 })
}

function connect(operator: string) {
  const sockets = createWSClient({ url: `${origin.replace('http', 'ws')}/api/trpc`, WebSocket: WebSocket as never })
  const client = createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: wsLink({ client: sockets }),
        false: httpBatchLink({ url: `${origin}/api/trpc`, headers: { 'x-tidewatch-operator': operator } }),
      }),
    ],
  })
  return { client, close: () => sockets.close() }
}

async function storeInsight(): Promise<Resource<DataplaneInsight>> {
  await core.store.create(
    { key: { ...key, type: 'Dataplane' }, spec: { networking: { address: '127.0.0.1', inbound: [], outbound: [] } } },
    writer,
  )
  const subscription = { id: 's-1', instance: 'i-1', variant: 'sotw', connectedAt: core.clock.now(), generation: 1, types: {} } as const
  return core.store.create<DataplaneInsight>({ key, spec: { subscriptions: [subscription] } }, writer)
}

it('shows an insight as soon as it is stored, follows each write of it, and sees it go', async () => {
  const { client, close } = connect('ada')
  const frames: LiveFrame[] = []
  client.live.subscribe({ counters: true, insights: [key] }, { onData: (frame) => frames.push(frame) })
  await expect
    .poll(() => frames[0])
    .toMatchObject({ kind: 'snapshot', insights: [], counters: { summary: { DataplaneInsight: { fresh: 0, unknown: 0 } } } })

  const stored = await storeInsight()
  const versions = () =>
    frames.flatMap((frame) =>
      frame.kind === 'upsert' && frame.key !== 'counters' && frame.key !== 'glance' && !isLinkFrame(frame) ? [frame.value.version] : [],
    )
  await expect.poll(() => versions().at(-1)).toBe(stored.version)
  expect(await client.insights.list.query({ q: 'web' })).toMatchObject({ total: 1, items: [{ key, writer: 'test', online: true }] })
  expect(await client.insights.get.query({ key })).toMatchObject({ row: { key }, subscriptions: [{ id: 's-1' }], nextFlushAt: null })

  const written = await core.store.update(stored, writer)
  await expect.poll(() => versions().at(-1)).toBe(written.version)
  await expect
    .poll(() => frames.findLast((frame) => frame.kind === 'upsert' && frame.key === 'counters'))
    .toMatchObject({ value: { summary: { DataplaneInsight: { fresh: 1 } } } })

  await core.store.delete({ ...key, type: 'Dataplane' }, writer)
  await expect.poll(() => frames.findLast(({ kind }) => kind === 'remove')).toMatchObject({ key })
  await close()
  await expectNothingLeft()
})

it('lets two operators change a setting, one after the other only', async () => {
  const [ada, grace] = [connect('ada'), connect('grace')]
  const settingKey = 'sink.dataplane.flushIntervalMs'
  const seen = (await ada.client.settings.list.query()).items.find((row) => row.key === settingKey)
  const change = { key: settingKey, expectedVersion: seen?.version ?? '' }
  const applied = await ada.client.settings.apply.mutate({ ...change, value: 1_000, reason: 'rush hour' })
  expect(applied.setting).toMatchObject({ value: 1_000, modifiedBy: 'ada' })
  const refused = await grace.client.settings.apply.mutate({ ...change, value: 2_000 }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ data: { code: 'conflict', httpStatus: 409, details: { changedBy: 'ada', value: 1_000 } } })
  const outside = await ada.client.settings.apply
    .mutate({ ...change, value: 1, expectedVersion: applied.setting.version })
    .catch((error: unknown) => error)
  expect(outside).toMatchObject({ data: { code: 'invalid', details: { range: { min: 100, max: 600_000 } } } })
  expect((await grace.client.settings.history.query()).items).toMatchObject([{ by: 'ada', from: 10_000, to: 1_000, reason: 'rush hour' }])
  expect((await grace.client.sinks.list.query()).items).toMatchObject([
    { name: 'dataplane' },
    { name: 'zone' },
    { name: 'mesh' },
    { name: 'instance' },
  ])
  await Promise.all([ada.close(), grace.close()])
  await expectNothingLeft()
})

it('tells who it is and what there is before anything has connected', async () => {
  const { client, close } = connect('ada')
  expect(await client.instances.self.query()).toMatchObject({
    store: 'memory',
    mode: 'standalone',
    demo: false,
    xds: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  })
  expect((await client.sessions.list.query()).items).toEqual([])
  expect((await client.conflicts.matrix.query()).cells).toEqual([])
  expect((await client.insights.order.query({ sort: 'worst', type: 'DataplaneInsight' })).keys).toEqual([])
  expect((await client.overview.counters.query()).counters.storeProblem).toBeNull()
  expect(await client.demo.list.query().catch((error: unknown) => error)).toMatchObject({ data: { code: 'not_found' } })
  await close()
  await expectNothingLeft()
})

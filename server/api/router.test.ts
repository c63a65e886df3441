import type { TRPCError } from '@trpc/server'
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { CoreError } from '../lib/errors.ts'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { toKeyString } from '../model/resource.ts'
import type { SessionRow } from '../model/views.ts'
import type { ControlPlane } from '../runtime/control-plane.ts'
import type { ApiContext } from './context.ts'
import { createFakeControlPlane, type FakeControlPlane, insightKey, insightRow, storedResource } from './fake-control-plane.ts'
import { createCallerFactory, router } from './init.ts'
import { createLiveFeed } from './live-feed.ts'
import { appRouter, socketRouter } from './router.ts'
import { settingsProcedures } from './routers/settings.ts'

let clock: FakeClock
let fake: FakeControlPlane
const log: { msg: string; err?: { message: string } }[] = []
const logger = pino({ level: 'error' }, { write: (line: string) => void log.push(JSON.parse(line) as (typeof log)[number]) })

function contextFor(name: string): ApiContext {
  const { controlPlane } = fake
  return {
    controlPlane,
    logger,
    live: createLiveFeed({ ...controlPlane, clock, counters: () => controlPlane.counters() }),
    caller: { name, connection: {}, bufferedAmount: () => 0 },
  }
}
const callAs = (name: string) => createCallerFactory(appRouter)(contextFor(name))
const call = () => callAs('ada')
const applyAs = (name: string) => createCallerFactory(router({ change: settingsProcedures.apply }))(contextFor(name)).change
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('it worked'),
    (error: TRPCError) => error,
  )

beforeEach(() => {
  clock = createFakeClock()
  fake = createFakeControlPlane(clock)
  log.length = 0
})

const session: SessionRow = {
  id: 's-1',
  protocol: 'xds',
  variant: 'sotw',
  subject: { type: 'Dataplane', mesh: 'default', name: 'dp-1' },
  nodeId: 'default.dp-1',
  peer: '127.0.0.1:9',
  connectedAt: 1,
  agent: null,
  direction: null,
  retryAt: null,
  refused: [],
  types: [],
}

describe('debug', () => {
  it('tells the sizes of all that grows with sessions and readers', async () => {
    fake.sessions.set('s-1', session)
    const { sizes, memory } = await call().debug.snapshot()
    expect(sizes).toEqual({ 'sessions.all': 1, 'live.subscriptions': 0 })
    expect(memory.rss).toBeGreaterThan(memory.heapUsed)
  })
})

describe('insights', () => {
  it('who reads rows that were seen through a link looks at it; who asks for what is not there does not', async () => {
    fake.board.put({ ...insightRow('prod/dp-1'), source: 'prod' })
    const { attention } = fake.controlPlane
    await call().insights.rows({ keys: [insightKey('elsewhere/gone')] })
    expect(attention.isLookedAt('elsewhere')).toBe(false)
    await call().insights.rows({ keys: [insightKey('prod/dp-1')] })
    expect(attention.isLookedAt('prod', insightKey('').mesh)).toBe(true)
    await clock.advance(20_000)
    expect(attention.isLookedAt('prod')).toBe(false)
  })

  it('gives rows in the order asked for and leaves out those that are gone', async () => {
    for (const name of ['a', 'b']) fake.board.put(insightRow(name))
    const answer = await call().insights.rows({ keys: [insightKey('b'), insightKey('gone'), insightKey('a')] })
    expect(answer.items.map(({ key }) => key.name)).toEqual(['b', 'a'])
    expect(answer.now).toBe(clock.now())
  })

  it('takes 200 keys and refuses 201', async () => {
    const keys = Array.from({ length: 201 }, (_, index) => insightKey(`dp-${index}`))
    expect((await call().insights.rows({ keys: keys.slice(1) })).items).toEqual([])
    expect((await failure(call().insights.rows({ keys }))).code).toBe('BAD_REQUEST')
  })

  it('refuses input it does not know instead of ignoring it', async () => {
    const error = await failure(call().insights.order({ mehs: 'default' } as never))
    expect(error.code).toBe('BAD_REQUEST')
  })

  it('gives the order with the revision it was taken at, filtered', async () => {
    for (const name of ['web-1', 'web-2', 'db-1']) fake.board.put(insightRow(name))
    const order = await call().insights.order({ q: 'web', sort: 'name', freshness: 'fresh' })
    expect(order).toEqual({ now: clock.now(), asOf: 3, membersAsOf: 3, keys: [insightKey('web-1'), insightKey('web-2')] })
  })

  it('pages through everything once, also when the row a page ended with is removed and others come', async () => {
    for (const name of ['b', 'd', 'f', 'h']) fake.board.put(insightRow(name))
    const first = await call().insights.list({ limit: 2 })
    expect(first).toMatchObject({ total: 4, items: [{ key: { name: 'b' } }, { key: { name: 'd' } }] })
    fake.board.remove(insightKey('d'))
    fake.board.put(insightRow('a'))
    fake.board.put(insightRow('e'))
    const second = await call().insights.list({ limit: 2, cursor: first.nextCursor ?? '' })
    expect(second.items.map(({ key }) => key.name)).toEqual(['e', 'f'])
    const third = await call().insights.list({ limit: 2, cursor: second.nextCursor ?? '' })
    expect(third.items.map(({ key }) => key.name)).toEqual(['h'])
    expect(third.nextCursor).toBeNull()
  })

  it('lists without any input and refuses a cursor it never gave', async () => {
    fake.board.put(insightRow('a'))
    expect((await call().insights.list()).items).toHaveLength(1)
    for (const cursor of ['nonsense', Buffer.from('[1,2,3,4]').toString('base64url'), Buffer.from('{}').toString('base64url')])
      expect((await failure(call().insights.list({ cursor }))).cause).toMatchObject({ code: 'invalid' })
  })

  it('counts by type and freshness beside its own time', async () => {
    fake.board.put(insightRow('a'))
    expect(await call().insights.summary()).toEqual({
      now: clock.now(),
      DataplaneInsight: { fresh: 1, late: 0, stale: 0, offline: 0, unknown: 0 },
    })
  })

  it('tells of one insight what is stored, who wrote, when it is due and why it is late', async () => {
    const key = insightKey('a')
    const since = clock.now()
    fake.board.put(insightRow('a', { pendingSince: since, heartbeatAt: since }))
    const subscription = { id: 's', instance: 'i-1', variant: 'sotw', connectedAt: 1, generation: 3, types: {} } as const
    fake.stored.set(toKeyString(key), storedResource(key, { subscriptions: [subscription] }))
    fake.nextFlushAt = since + 4_000
    expect(await call().insights.get({ key })).toMatchObject({
      now: since,
      row: { key },
      subscriptions: [subscription],
      mtls: null,
      writes: [],
      nextFlushAt: since + 4_000,
      why: 'Waiting for its next flush, due in 4 s, within the cadence.',
    })
  })

  it('answers for an insight whose first write is still under way', async () => {
    fake.board.put(insightRow('new', { heartbeatAt: 0 }))
    expect(await call().insights.get({ key: insightKey('new') })).toMatchObject({ subscriptions: [], mtls: null })
  })

  it('says not found of what neither board nor store has, and takes a key without a mesh', async () => {
    const error = await failure(call().insights.get({ key: { type: 'ZoneInsight', name: 'east' } }))
    expect(error).toMatchObject({ code: 'NOT_FOUND', message: 'there is no ZoneInsight east' })
  })
})

describe('settings', () => {
  it('applies under the lock of the version seen and names who changed it', async () => {
    const [before] = (await call().settings.list()).items
    const change = { key: before?.key ?? '', value: 1_000, expectedVersion: before?.version ?? '' }
    const applied = await applyAs('ada')({ ...change, reason: 'rush hour' })
    expect(applied).toMatchObject({ changeId: 'c1', setting: { value: 1_000, modifiedBy: 'ada' }, now: clock.now() })

    const error = await failure(applyAs('grace')({ ...change, value: 2_000 }))
    expect(error.code).toBe('CONFLICT')
    expect(error.cause).toMatchObject({ code: 'conflict', details: { changedBy: 'ada', value: 1_000, version: 'v1' } })
    expect((await call().settings.history()).items).toMatchObject([{ by: 'ada', from: 10_000, to: 1_000, reason: 'rush hour' }])
  })

  it('passes on what the settings refuse, with the range', async () => {
    const error = await failure(applyAs('ada')({ key: 'sink.dataplane.flushIntervalMs', value: 1, expectedVersion: '0' }))
    expect(error.cause).toMatchObject({ code: 'invalid', details: { range: { min: 100, max: 600_000 } } })
  })

  it('asks for the version it must know', async () => {
    expect((await failure(applyAs('ada')({ key: 'x', value: 1 } as never))).message).toContain('settings.list')
  })
})

describe('sessions', () => {
  it('lists, shows and sends again', async () => {
    fake.sessions.set('s-1', session)
    expect((await call().sessions.list()).items).toEqual([session])
    expect(await call().sessions.get({ id: 's-1' })).toEqual({ now: clock.now(), ...session })
    expect(await call().sessions.resync({ id: 's-1', type: 'LDS' })).toMatchObject({ id: 's-1' })
    expect(fake.resyncs).toEqual(['s-1 LDS'])
  })

  it('names a session that is not here', async () => {
    expect(await failure(call().sessions.get({ id: 's-9' }))).toMatchObject({
      code: 'NOT_FOUND',
      message: 'session s-9 is not connected here',
    })
    expect((await failure(call().sessions.resync({ id: 's-9' }))).code).toBe('NOT_FOUND')
  })
})

describe('the rest', () => {
  it('answers with its own time everywhere', async () => {
    const now = clock.now()
    expect(await call().sinks.list()).toEqual({ now, items: [] })
    expect(await call().instances.self()).toMatchObject({ now, id: 'i-1', xds: '127.0.0.1:7678' })
    expect(await call().overview.counters()).toMatchObject({ now, counters: { insightsTotal: 0 } })
    expect(await call().overview.glance()).toMatchObject({ now, glance: { insightsTotal: 0 } })
    expect(await call().conflicts.matrix({ sinceMs: 60_000 })).toMatchObject({ now, cells: [{ lostTo: 'identity', benign: 60_000 }] })
    expect((await call().conflicts.matrix()).cells[0]?.benign).toBe(7)
  })

  it('has the switches of the simulated fleet only with --demo', async () => {
    expect((await failure(call().demo.list())).code).toBe('NOT_FOUND')
    fake = createFakeControlPlane(clock, { isDemo: true })
    expect((await call().demo.set({ name: 'nack-wave', active: true })).items).toMatchObject([{ active: true }])
    expect((await failure(call().demo.set({ name: 'quake', active: true }))).message).toContain('nack-wave')
  })

  it('tells the caller nothing of a failure nobody expected and logs its cause', async () => {
    const broken = { ...fake.controlPlane, sinks: () => (null as never as ControlPlane).sinks() }
    const caller = createCallerFactory(appRouter)({ ...contextFor('ada'), controlPlane: broken })
    const error = await failure(caller.sinks.list())
    expect(error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', message: 'Something went wrong inside Tidewatch; its log says what.' })
    expect(log).toHaveLength(1)
    expect(log[0]?.err?.message).toContain('null')
  })

  it('does not log what a caller did wrong', async () => {
    await failure(call().sessions.get({ id: 's-9' }))
    await failure(call().insights.rows({ keys: 'all' } as never))
    expect(log).toEqual([])
  })

  it('keeps the code of every core error', async () => {
    const refusing = (error: CoreError) => ({
      ...fake.controlPlane,
      sinks: () => {
        throw error
      },
    })
    const context = contextFor('ada')
    const codeOf = async (error: CoreError) =>
      (await failure(createCallerFactory(appRouter)({ ...context, controlPlane: refusing(error) }).sinks.list())).code
    expect(await codeOf(new CoreError('unavailable', ''))).toBe('SERVICE_UNAVAILABLE')
    expect(await codeOf(new CoreError('timeout', ''))).toBe('GATEWAY_TIMEOUT')
    expect(await codeOf(new CoreError('exhausted', ''))).toBe('TOO_MANY_REQUESTS')
  })

  it('has settings.apply under that path, though tRPC reserves the word', () => {
    expect(Object.keys(appRouter._def.procedures)).toContain('settings.apply')
  })

  it('serves live alone over a socket', () => {
    expect(Object.keys(socketRouter._def.procedures)).toEqual(['live'])
  })
})

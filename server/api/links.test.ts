import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { LinkFailure } from '../link/link-failure.ts'
import { createScriptedConnector, linkSpec, type ScriptedConnector } from '../link/testing/scripted-connector.ts'
import { isLinkFrame } from '../model/live-frames.ts'
import type { LiveFrame } from '../model/views.ts'
import { createFakeControlPlane, type FakeControlPlane } from './fake-control-plane.ts'
import { createCallerFactory } from './init.ts'
import { createLiveFeed, type LiveFeed } from './live-feed.ts'
import { appRouter } from './router.ts'

let clock: FakeClock
let fake: FakeControlPlane
let live: LiveFeed
let pods: ScriptedConnector
let stopping: AbortController
let done: Promise<void>

beforeEach(async () => {
  clock = createFakeClock()
  fake = createFakeControlPlane(clock)
  const { board, links } = fake.controlPlane
  live = createLiveFeed({
    board,
    links,
    attention: fake.controlPlane.attention,
    readers: fake.controlPlane.readers,
    clock,
    counters: () => fake.controlPlane.counters(),
  })
  pods = createScriptedConnector()
  links.add(linkSpec('pods', pods))
  stopping = new AbortController()
  done = links.run(stopping.signal)
  await clock.advance(0)
})

afterEach(async () => {
  live.close()
  stopping.abort()
  await clock.advance(2_000)
  await done
})

const call = () =>
  createCallerFactory(appRouter)({
    controlPlane: fake.controlPlane,
    live,
    logger: pino({ level: 'silent' }),
    caller: { name: 'ada', connection: {}, bufferedAmount: () => 0 },
  }).links

describe('links over the API', () => {
  it('are listed, and told one by one with their log', async () => {
    expect(await call().list()).toMatchObject({ now: clock.now(), items: [{ id: 'pods', kind: 'watch', state: { kind: 'connecting' } }] })
    expect(await call().get({ id: 'pods' })).toMatchObject({ now: clock.now(), id: 'pods', log: [], waitMs: null, requestsByVerb: {} })
    await expect(call().get({ id: 'nodes' })).rejects.toThrow('there is no link "nodes"; there are: pods')
    await expect(call().get({ id: '' })).rejects.toThrow('Too small')
  })

  it('are retried, paused and resumed in the name of the caller, and answered as they are then', async () => {
    pods.fail(new LinkFailure('forbidden', 'no'))
    await clock.advance(0)
    expect(await call().retryNow({ id: 'pods' })).toMatchObject({ state: { kind: 'connecting', attempt: 1 } })
    expect(await call().pause({ id: 'pods', reason: 'rotating' })).toMatchObject({
      state: { kind: 'paused' },
      pausedBy: 'ada',
      pauseReason: 'rotating',
    })
    expect(await call().resume({ id: 'pods' })).toMatchObject({ state: { kind: 'connecting' }, pausedBy: null })
    expect((await call().get({ id: 'pods' })).log.map(({ text }) => text).slice(1)).toEqual([
      'retried now by ada',
      'paused by ada: rotating',
      'resumed by ada',
    ])
    await expect(call().pause({ id: 'nodes' })).rejects.toThrow('there is no link "nodes"')
  })

  it('are counted for every page', () => {
    expect(fake.controlPlane.counters().links).toMatchObject({
      total: 1,
      byState: { connecting: 1 },
      byHealth: { healthy: 1 },
      worst: null,
    })
  })
})

describe('links live', () => {
  it('begin with all of them, tell a change with the next lap, counts once a second, and one that goes', async () => {
    const frames: LiveFrame[] = []
    const reading = new AbortController()
    const read = (async () => {
      const scope = { connection: {}, bufferedAmount: () => 0, signal: reading.signal }
      for await (const frame of live.subscribe({ links: true }, scope)) frames.push(frame)
    })()
    const take = () => frames.splice(0).filter(({ kind }) => kind !== 'tick')
    await clock.advance(0)
    expect(take()).toMatchObject([{ kind: 'snapshot', links: [{ id: 'pods' }] }])
    pods.now().live()
    await clock.advance(250)
    expect(take()).toMatchObject([{ kind: 'upsert', key: { link: 'pods' }, value: { state: { kind: 'live' } } }])
    for (let turn = 0; turn < 100; turn++) {
      pods.now().event('modified')
      await clock.advance(40)
    }
    const told = take()
    expect(told.length).toBeGreaterThanOrEqual(3)
    expect(told.length).toBeLessThanOrEqual(5)
    expect(told.every(isLinkFrame)).toBe(true)
    // The rate falls to 0, and then nothing more is told.
    await clock.advance(20_000)
    expect(take().at(-1)).toMatchObject({ value: { eventsPerSecond: 0 } })
    await clock.advance(5_000)
    expect(take()).toEqual([])
    const removed = fake.controlPlane.links.remove('pods')
    await clock.advance(250)
    await removed
    expect(take()).toMatchObject([{ kind: 'remove', key: { link: 'pods' } }])
    reading.abort()
    await read
  })
})

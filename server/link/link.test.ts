import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { LinkFailure } from './link-failure.ts'
import { createLinkRegistry, type LinkRegistry } from './link-registry.ts'
import {
  createPlainGatePolicy,
  createPlainTuning,
  createScriptedConnector,
  linkSpec,
  type ScriptedConnector,
} from './testing/scripted-connector.ts'

let clock: FakeClock
let lines: string[]
let counted: string[]
let tuning: ReturnType<typeof createPlainTuning>
let links: LinkRegistry
let stopping: AbortController
let done: Promise<void>

beforeEach(() => {
  clock = createFakeClock()
  lines = []
  counted = []
  tuning = createPlainTuning()
  links = createLinkRegistry({
    clock,
    random: () => 0.5,
    log: { info: (_, line) => lines.push(line), warn: (_, line) => lines.push(line) },
    observer: {
      request: (link, verb, code) => counted.push(`${link} ${verb} ${code}`),
      reconnect: (link, cause) => counted.push(`${link} reconnect ${cause}`),
      relist: (link, reason) => counted.push(`${link} relist ${reason}`),
      event: (link, kind) => counted.push(`${link} ${kind}`),
      eventLag: (link, seconds) => counted.push(`${link} lag ${seconds}`),
    },
    tuningOf: () => tuning,
    gatePolicy: createPlainGatePolicy(),
  })
  stopping = new AbortController()
  done = links.run(stopping.signal)
})

async function start(id = 'pods'): Promise<ScriptedConnector> {
  const connector = createScriptedConnector()
  links.add(linkSpec(id, connector))
  await clock.advance(0)
  return connector
}
async function goLive(connector: ScriptedConnector): Promise<void> {
  connector.now().syncing()
  connector.now().live()
  await clock.advance(0)
}
async function stop(): Promise<void> {
  stopping.abort()
  await clock.advance(2_000)
  await done
  expect(clock.pending()).toBe(0)
}
const row = (id = 'pods') => links.row(id)!
const refused = () => new LinkFailure('network', 'connect ECONNREFUSED 10.0.0.1:6443')
const forbidden = () => new LinkFailure('forbidden', 'pods is forbidden', { hint: 'rules: []' })

describe('a link', () => {
  it('goes from connecting to live, and shows what it does', async () => {
    const pods = await start()
    expect(row()).toMatchObject({ state: { kind: 'connecting' }, health: 'healthy', endpoint: 'https://api.test:6443', lastError: null })
    pods.now().request('list', 200)
    pods.now().relist('start')
    pods.now().syncing()
    expect(row().state).toEqual({ kind: 'syncing' })
    pods.now().objects(7)
    pods.now().live()
    await clock.advance(1_000)
    pods.now().event('modified', { lagMs: 40 })
    pods.now().bookmark()
    pods.now().bad('Pod shop/web-1: no metadata.name')
    await clock.advance(1_000)
    expect(row()).toMatchObject({
      state: { kind: 'live' },
      stateSince: clock.now() - 2_000,
      withoutSuccessSince: null,
      lastEventAt: clock.now() - 1_000,
      lastBookmarkAt: clock.now() - 1_000,
      eventsPerSecond: 0.1,
      eventLagMs: { p50: 40, p99: 40 },
      objects: 7,
      bad: { count: 1, last: { what: 'Pod shop/web-1: no metadata.name' } },
      relists: { start: 1 },
      requests: { 200: 1 },
      reconnects: {},
      history: [{ at: clock.now() - 2_000, lane: 'live' }],
    })
    expect(links.get('pods')).toMatchObject({
      requestsByVerb: { list: { 200: 1 } },
      waitMs: null,
      waitsMs: [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000],
    })
    expect(counted).toEqual(['pods list 200', 'pods relist start', 'pods modified', 'pods lag 0.04', 'pods bookmark'])
    await stop()
  })

  it('is degraded at once when somebody must act, is tried again all the same, and heals', async () => {
    const pods = await start()
    pods.fail(forbidden())
    await clock.advance(0)
    const failedAt = clock.now()
    expect(row()).toMatchObject({
      state: { kind: 'waiting', attempt: 1, until: clock.now() + 800, cause: 'forbidden' },
      health: 'degraded',
      lastError: { class: 'forbidden', message: 'pods is forbidden', hint: 'rules: []', at: failedAt, since: failedAt },
    })
    await clock.advance(800)
    expect(pods.attempts()).toBe(2)
    expect(row()).toMatchObject({ state: { kind: 'connecting', attempt: 1 }, health: 'degraded' })
    pods.now().syncing()
    pods.fail(forbidden())
    await clock.advance(0)
    expect(row()).toMatchObject({ state: { attempt: 2 }, lastError: { at: failedAt + 800, since: failedAt } })
    await clock.advance(1_600)
    await goLive(pods)
    expect(row()).toMatchObject({
      health: 'healthy',
      withoutSuccessSince: null,
      lastError: { class: 'forbidden' },
      reconnects: { forbidden: 2 },
    })
    // A syncing that took no time is not drawn.
    expect(row().history.map(({ lane }) => lane)).toEqual(['degraded', 'live'])
    await stop()
  })

  it('is unhealthy only when the transient ones last longer than the threshold, and healthy with the next success', async () => {
    const pods = await start()
    for (let at = 0; at < 44_999;) {
      if (pods.isOpen()) pods.fail(new LinkFailure('server', '500'))
      await clock.advance(1)
      at++
      if (at % 1_000 === 0) expect(row().health).toBe('healthy')
    }
    await clock.advance(1)
    expect(row()).toMatchObject({ health: 'unhealthy', healthSince: clock.now() })
    expect(links.counts()).toMatchObject({ total: 1, byHealth: { unhealthy: 1 }, worst: { id: 'pods', health: 'unhealthy' } })
    links.retryNow('pods', 'ada')
    await clock.advance(0)
    await goLive(pods)
    expect(row().health).toBe('healthy')
    expect(links.counts().worst).toBeNull()
    await stop()
  })

  it('connects again at once when a stream ends cleanly after a long life, and waits when it ends too soon', async () => {
    const pods = await start()
    await goLive(pods)
    await clock.advance(290_000)
    pods.end()
    await clock.advance(0)
    expect([pods.attempts(), row().state.kind]).toEqual([2, 'connecting'])
    await goLive(pods)
    pods.end()
    await clock.advance(0)
    expect(row()).toMatchObject({ state: { kind: 'waiting', attempt: 1, cause: 'closed_early' }, lastError: { class: 'closed_early' } })
    await stop()
  })

  it('makes fewer than ten watches in a minute of an endpoint that closes each at once', async () => {
    const pods = await start()
    for (let second = 0; second < 600; second++) {
      if (pods.isOpen()) {
        await goLive(pods)
        pods.end()
      }
      await clock.advance(100)
    }
    expect(pods.attempts()).toBeLessThan(10)
    expect(pods.attempts()).toBeGreaterThan(5)
    await stop()
  })

  it('waits as long as its peer asks, and shows until when', async () => {
    const pods = await start()
    pods.fail(new LinkFailure('throttled', 'too many requests', { retryAfterMs: 3_000 }))
    await clock.advance(0)
    expect(row().state).toEqual({ kind: 'waiting', attempt: 1, until: clock.now() + 3_000, cause: 'throttled' })
    await clock.advance(2_999)
    expect(pods.attempts()).toBe(1)
    await clock.advance(1)
    expect(pods.attempts()).toBe(2)
    await stop()
  })

  it('follows a change of its policy in the middle of a wait, either way', async () => {
    const pods = await start()
    tuning.set({ baseBackoffMs: 20_000 })
    pods.fail(forbidden())
    await clock.advance(5_000)
    tuning.set({ baseBackoffMs: 10_000 })
    expect(row().state.until).toBe(clock.now() + 5_000)
    tuning.set({ baseBackoffMs: 1_000 })
    await clock.advance(0)
    expect(pods.attempts()).toBe(2)
    await stop()
  })

  it('is paused, resumed and retried at once from every state, and says by whom', async () => {
    const pods = await start()
    links.pause('pods', 'ada', 'rotating')
    expect(row()).toMatchObject({ state: { kind: 'paused' }, health: 'paused', pausedBy: 'ada', pauseReason: 'rotating' })
    links.pause('pods', 'grace')
    expect(row().pausedBy).toBe('ada')
    await clock.advance(600_000)
    expect([pods.attempts(), row().health]).toEqual([1, 'paused'])
    links.resume('pods', 'grace')
    await clock.advance(0)
    expect([pods.attempts(), row().pausedBy]).toEqual([2, null])
    links.retryNow('pods', 'ada')
    await clock.advance(0)
    expect(pods.attempts()).toBe(3)
    await goLive(pods)
    links.retryNow('pods', 'ada')
    await clock.advance(0)
    expect(pods.attempts()).toBe(4)
    pods.fail(forbidden())
    await clock.advance(0)
    links.retryNow('pods', 'ada')
    await clock.advance(0)
    expect(pods.attempts()).toBe(5)
    expect(links.get('pods').log.map(({ text }) => text)).toEqual([
      'paused by ada: rotating',
      'resumed by grace',
      'retried now by ada',
      'live',
      'retried now by ada',
      'forbidden: pods is forbidden',
      'retried now by ada',
    ])
    await stop()
  })

  it('hears nothing of an attempt that it has ended, and begins the next when that has settled', async () => {
    const late = Promise.withResolvers<void>()
    const attempts: { live(): void; request(verb: 'list', code: number): void }[] = []
    links.add(
      linkSpec('slow', {
        connect(attempt) {
          attempts.push(attempt)
          return attempts.length === 1 ? late.promise : new Promise(() => {})
        },
      }),
    )
    await clock.advance(0)
    links.retryNow('slow', 'ada')
    attempts[0]!.live()
    attempts[0]!.request('list', 200)
    await clock.advance(0)
    expect([attempts.length, row('slow').state.kind, row('slow').requests]).toEqual([1, 'connecting', {}])
    late.reject(new LinkFailure('network', 'too late'))
    await clock.advance(0)
    expect([attempts.length, row('slow').state.kind, row('slow').lastError]).toEqual([2, 'connecting', null])
    // The second never settles: it has its grace.
    links.retryNow('slow', 'ada')
    await clock.advance(1_999)
    expect(attempts).toHaveLength(2)
    await clock.advance(1)
    expect(attempts).toHaveLength(3)
    await stop()
  })

  it('takes what a connector throws by mistake for a protocol error, and goes on', async () => {
    const pods = await start()
    pods.fail(new TypeError('x is undefined'))
    await clock.advance(800)
    expect(row().lastError).toMatchObject({ class: 'protocol', message: 'unexpected: x is undefined' })
    expect(pods.attempts()).toBe(2)
    await stop()
  })

  it('writes a line when something changes, never one per attempt', async () => {
    const pods = await start()
    for (let second = 0; second < 3_600; second++) {
      if (pods.isOpen()) pods.fail(second < 1_800 ? refused() : new LinkFailure('server', '500'))
      await clock.advance(1_000)
    }
    expect(pods.attempts()).toBeGreaterThan(100)
    expect(lines).toEqual([
      'link pods: network: connect ECONNREFUSED 10.0.0.1:6443',
      'link pods: unhealthy: 45 s without success',
      'link pods: server: 500',
    ])
    await stop()
  })

  it('writes few lines however much it flaps', async () => {
    const pods = await start()
    for (let turn = 0; turn < 600; turn++) {
      if (pods.isOpen()) {
        await goLive(pods)
        pods.fail(new LinkFailure('server', '500'))
      } else links.retryNow('pods', 'a script')
      await clock.advance(100)
    }
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(links.get('pods').log.length).toBe(50)
    expect(row().history.length).toBeLessThanOrEqual(48)
    await stop()
  })
})

describe('links to one endpoint', () => {
  it('wait for one that probes while it is down, then resume one by one', async () => {
    const names = ['a', 'b', 'c', 'd']
    const all = new Map<string, ScriptedConnector>()
    for (const name of names) all.set(name, await start(name))
    for (const connector of all.values()) await goLive(connector)
    await clock.advance(200_000)
    for (const connector of all.values()) connector.fail(refused())
    await clock.advance(0)
    expect(row('a')).toMatchObject({ probing: true, waitingFor: null, state: { kind: 'waiting', attempt: 1, until: clock.now() + 500 } })
    expect(row('b')).toMatchObject({
      probing: false,
      state: { kind: 'waiting', attempt: 1, cause: 'network' },
      waitingFor: { endpoint: 'https://api.test:6443', prober: 'a', probeAt: clock.now() + 500 },
    })
    expect(row('b').state.until).toBeUndefined()
    await clock.advance(500)
    expect(names.map((name) => all.get(name)!.attempts())).toEqual([2, 1, 1, 1])
    expect(row('b').waitingFor).toEqual({ endpoint: 'https://api.test:6443', prober: 'a', probeAt: null })
    all.get('a')!.fail(refused())
    await clock.advance(0)
    expect([row('a').waitingFor?.prober, row('b').probing]).toEqual(['b', true])
    await clock.advance(800)
    expect(names.map((name) => all.get(name)!.attempts())).toEqual([2, 2, 1, 1])
    // Any answer will do.
    all.get('b')!.now().request('watch', 403)
    await clock.advance(0)
    expect(names.map((name) => all.get(name)!.attempts())).toEqual([2, 2, 2, 1])
    expect(row('d').waitingFor).toEqual({ endpoint: 'https://api.test:6443', prober: null, probeAt: null })
    await clock.advance(20)
    expect(names.map((name) => all.get(name)!.attempts())).toEqual([3, 2, 2, 2])
    await stop()
  })

  it('hand over the probe at once when the prober is paused, stopped or removed', async () => {
    const [a, b, c] = [await start('a'), await start('b'), await start('c')]
    for (const connector of [a, b, c]) connector.fail(refused())
    await clock.advance(500)
    expect([a.attempts(), b.attempts()]).toEqual([2, 1])
    links.pause('a', 'ada')
    await clock.advance(0)
    expect([b.attempts(), c.attempts()]).toEqual([2, 1])
    const removed = links.remove('b')
    await clock.advance(0)
    await removed
    expect(c.attempts()).toBe(2)
    expect(links.row('b')).toBeUndefined()
    links.resume('a', 'ada')
    await clock.advance(0)
    expect(row('a')).toMatchObject({ state: { kind: 'waiting' }, waitingFor: { prober: 'c' } })
    await stop()
  })

  it('do not wait for one that is forbidden, or whose stream breaks at once again and again', async () => {
    const [a, b] = [await start('a'), await start('b')]
    a.fail(forbidden())
    await clock.advance(0)
    expect(row('b')).toMatchObject({ waitingFor: null, state: { kind: 'connecting' } })
    await goLive(b)
    await clock.advance(800)
    for (let turn = 0; turn < 100; turn++) {
      if (a.isOpen()) {
        await goLive(a)
        a.fail(new LinkFailure('network', 'socket hang up'))
      }
      await clock.advance(1_000)
      expect(row('a').probing).toBe(false)
    }
    expect(a.attempts()).toBeLessThan(12)
    const other = await start('other')
    expect(other.attempts()).toBe(1)
    await stop()
  })

  it('are told apart by scheme, host and port alone', async () => {
    const a = await start('a')
    const elsewhere = createScriptedConnector()
    links.add(linkSpec('elsewhere', elsewhere, { endpoint: 'https://api.test:6444/x' }))
    a.fail(refused())
    await clock.advance(0)
    expect(elsewhere.attempts()).toBe(1)
    const late = createScriptedConnector()
    links.add(linkSpec('late', late, { endpoint: 'https://api.test:6443/other/path' }))
    await clock.advance(0)
    expect([late.attempts(), row('late').waitingFor?.prober]).toEqual([0, 'a'])
    await stop()
  })

  it('read at most 8 lists at a time', async () => {
    let reading = 0
    let most = 0
    const ends: (() => void)[] = []
    for (let index = 0; index < 30; index++) {
      links.add(
        linkSpec(`w${index}`, {
          async connect(attempt) {
            const end = await attempt.listTurn()
            most = Math.max(most, ++reading)
            ends.push(() => {
              reading--
              end()
            })
            await new Promise((_, reject) => attempt.signal.addEventListener('abort', () => reject(attempt.signal.reason)))
          },
        }),
      )
    }
    await clock.advance(0)
    expect([reading, ends.length]).toEqual([8, 8])
    for (let index = 0; index < 30; index++) {
      ends[index]!()
      await clock.advance(0)
    }
    expect([reading, ends.length, most]).toEqual([0, 30, 8])
    await stop()
  })
})

describe('the registry', () => {
  it('refuses ids and endpoints that are none, and ids that are taken', async () => {
    await start('pods')
    const add =
      (id: string, endpoint = 'https://api.test') =>
      () =>
        links.add(linkSpec(id, createScriptedConnector(), { endpoint }))
    expect(add('pods')).toThrow('there is a link "pods" already')
    for (const id of ['', ' ', 'a b', '-a', 'a.', 'a"', 'x'.repeat(101)]) expect(add(id)).toThrow('cannot be the id of a link')
    for (const endpoint of ['', 'api.test', 'https://']) expect(add('b', endpoint)).toThrow('is no address of an endpoint')
    await stop()
  })

  it('names the links there are when one is asked for that is not', async () => {
    expect(() => links.get('x')).toThrow('there is no link "x": none is configured')
    await start('pods')
    expect(() => links.pause('pod', 'ada')).toThrow('there is no link "pod"; there are: pods')
    await stop()
    expect(() => links.retryNow('pods', 'ada')).toThrow('Tidewatch is stopping')
  })

  it('stops at once from every state, even with an attempt that does not settle', async () => {
    await start('connecting')
    const waiting = await start('waiting')
    waiting.fail(forbidden())
    await goLive(await start('live'))
    links.add(linkSpec('stuck', { connect: () => new Promise(() => {}) }))
    await start('paused')
    links.pause('paused', 'ada')
    await clock.advance(0)
    await stop()
    expect(links.states().map(({ state }) => state)).toEqual(['stopped', 'stopped', 'stopped', 'stopped', 'stopped'])
  })

  it('tells who changed, and counts by state and health', async () => {
    const changed: string[] = []
    const listening = new AbortController()
    links.onChange((id) => changed.push(id), listening.signal)
    const [a, b] = [await start('a'), await start('b')]
    changed.length = 0
    a.now().event('added')
    expect(changed).toEqual([])
    a.fail(forbidden())
    b.fail(refused())
    await clock.advance(0)
    expect(new Set(changed)).toEqual(new Set(['a', 'b']))
    await clock.advance(60_000)
    b.fail(refused())
    await clock.advance(0)
    expect(links.counts()).toMatchObject({ total: 2, byHealth: { degraded: 1, unhealthy: 1 }, worst: { id: 'a', health: 'degraded' } })
    listening.abort()
    await stop()
  })
})

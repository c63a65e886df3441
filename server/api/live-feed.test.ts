import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { isLinkFrame } from '../model/live-frames.ts'
import { type ResourceKey, toKeyString } from '../model/resource.ts'
import type { InsightRow, LiveFrame } from '../model/views.ts'
import { createFakeControlPlane, type FakeControlPlane, insightKey, insightRow } from './fake-control-plane.ts'
import { createLiveFeed, type LiveFeed, type LiveFeedOptions, type LiveScope } from './live-feed.ts'
import { STALL_ABOVE_BYTES } from './live-state.ts'

let clock: FakeClock
let fake: FakeControlPlane

beforeEach(() => {
  clock = createFakeClock()
  fake = createFakeControlPlane(clock)
})

function createFeed(options: LiveFeedOptions = {}): LiveFeed {
  const { board, links, readers } = fake.controlPlane
  return createLiveFeed(
    { board, links, attention: fake.controlPlane.attention, readers, clock, counters: () => fake.controlPlane.counters() },
    options,
  )
}

/** Takes frames as eagerly as tRPC's socket does. */
function read(feed: LiveFeed, scope: LiveScope, connection: object = {}) {
  const stop = new AbortController()
  const reader = {
    frames: [] as LiveFrame[],
    bufferedBytes: 0,
    failed: undefined as unknown,
    isOver: false,
    async stop() {
      stop.abort()
      await done
    },
    /** Frames since the last call. */
    take: () => reader.frames.splice(0),
  }
  const frames = feed.subscribe(scope, { connection, bufferedAmount: () => reader.bufferedBytes, signal: stop.signal })
  const done = (async () => {
    try {
      for await (const frame of frames) reader.frames.push(frame)
    } catch (error) {
      reader.failed = error
    }
    reader.isOver = true
  })()
  return reader
}

const keysOf = (names: readonly string[]): readonly ResourceKey[] => names.map(insightKey)

function expectNothingLeft(feed: LiveFeed): void {
  expect(fake.controlPlane.readers.read().stalled).toBe(0)
  expect(feed.size()).toBe(0)
  expect(fake.board.listeners()).toBe(0)
  expect(clock.pending()).toBe(0)
}

describe('createLiveFeed', () => {
  it('begins with a snapshot of its scope alone', async () => {
    for (const name of ['a', 'b', 'c']) fake.board.put(insightRow(name))
    const feed = createFeed()
    const [rows, counters, nothing] = [read(feed, { insights: keysOf(['b', 'gone', 'a']) }), read(feed, { counters: true }), read(feed, {})]
    await clock.advance(0)
    expect(rows.frames).toEqual([{ kind: 'snapshot', now: clock.now(), insights: [insightRow('b'), insightRow('a')] }])
    expect(counters.frames).toMatchObject([{ kind: 'snapshot', counters: { insightsTotal: 3 } }])
    expect(counters.frames[0]).not.toHaveProperty('insights')
    expect(nothing.frames).toEqual([{ kind: 'snapshot', now: clock.now() }])
    await Promise.all([rows.stop(), counters.stop(), nothing.stop()])
    expectNothingLeft(feed)
  })

  it('misses nothing that changes while the snapshot is being taken', async () => {
    fake.board.put(insightRow('a'))
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a']) })
    fake.board.put(insightRow('a', { version: '2' }))
    await clock.advance(0)
    fake.board.put(insightRow('a', { version: '3' }))
    await clock.advance(250)
    expect(reader.frames.at(-1)).toMatchObject({ kind: 'upsert', value: { version: '3' } })
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('sends a row at most ten times a second, and the newest each time', async () => {
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a']) })
    await clock.advance(0)
    reader.take()
    for (let version = 1; version <= 1_000; version++) {
      fake.board.put(insightRow('a', { version: String(version) }))
      if (version % 10 === 0) await clock.advance(10)
    }
    const upserts = reader.take().filter((frame) => frame.kind === 'upsert')
    expect(upserts).toHaveLength(10)
    await clock.advance(250)
    expect(reader.take()).toMatchObject([{ kind: 'upsert', value: { version: '1000' } }])
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('sends a row that was quiet within 100 ms, and not again before 100 more have passed', async () => {
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a']) })
    await clock.advance(60)
    reader.take()
    fake.board.put(insightRow('a', { version: '1' }))
    await clock.advance(40)
    fake.board.put(insightRow('a', { version: '2' }))
    await clock.advance(60)
    expect(reader.take()).toMatchObject([{ kind: 'upsert', value: { version: '2' } }])
    fake.board.put(insightRow('a', { version: '3' }))
    await clock.advance(75)
    expect(reader.take()).toEqual([])
    await clock.advance(25)
    expect(reader.take()).toMatchObject([{ kind: 'upsert', value: { version: '3' } }])
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('tells of a row that goes and of one that comes', async () => {
    fake.board.put(insightRow('a'))
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a', 'b']) })
    await clock.advance(0)
    reader.take()
    fake.board.remove(insightKey('a'))
    fake.board.put(insightRow('b'))
    fake.board.put(insightRow('not on screen'))
    await clock.advance(75)
    expect(reader.take()).toEqual([
      { kind: 'remove', now: clock.now(), key: insightKey('a') },
      { kind: 'upsert', now: clock.now(), key: insightKey('b'), value: insightRow('b') },
    ])
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('shows signs of life at least every 2 s when nothing happens', async () => {
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a']) })
    await clock.advance(10_000)
    const moments = reader.take().map(({ now }) => now)
    expect(moments.length).toBeGreaterThan(4)
    for (const [index, now] of moments.entries()) expect(now - (moments[index - 1] ?? now)).toBeLessThanOrEqual(2_000)
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('counts once for all readers of a lap', async () => {
    const feed = createFeed()
    const readers = Array.from({ length: 14 }, () => read(feed, { counters: true }))
    await clock.advance(0)
    expect(fake.counted).toBe(1)
    await clock.advance(1_000)
    expect(fake.counted).toBe(2)
    for (const reader of readers) expect(reader.frames.map(({ kind }) => kind)).toEqual(['snapshot', 'upsert'])
    await Promise.all(readers.map((reader) => reader.stop()))
    expectNothingLeft(feed)
  })

  it('carries of the counters what every page shows to who asks for a glance, and no more', async () => {
    fake.board.put(insightRow('a'))
    const feed = createFeed()
    const reader = read(feed, { counters: 'glance' })
    await clock.advance(0)
    const [snapshot] = reader.take()
    expect(snapshot).toMatchObject({ kind: 'snapshot', glance: { insightsTotal: 1, sinks: [] } })
    expect(snapshot).not.toHaveProperty('counters')
    fake.board.put(insightRow('b'))
    await clock.advance(500)
    const [upsert] = reader.take()
    expect(upsert).toMatchObject({ kind: 'upsert', key: 'glance', value: { insightsTotal: 2 } })
    expect(upsert).not.toHaveProperty('value.conflicts')
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('sends nothing to a reader that is behind, and a fresh snapshot once it has read what waited', async () => {
    for (const name of ['a', 'b']) fake.board.put(insightRow(name))
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a', 'b']), counters: true })
    await clock.advance(0)
    reader.take()

    reader.bufferedBytes = STALL_ABOVE_BYTES + 1
    fake.board.put(insightRow('a', { version: '2' }))
    fake.board.remove(insightKey('b'))
    await clock.advance(60_000)
    expect(reader.take()).toEqual([])
    expect(fake.controlPlane.readers.read().stalled).toBe(1)

    reader.bufferedBytes = 0
    await clock.advance(250)
    expect(fake.controlPlane.readers.read().stalled).toBe(0)
    expect(reader.take()).toMatchObject([{ kind: 'snapshot', insights: [{ version: '2' }], counters: { insightsTotal: 1 } }])
    fake.board.put(insightRow('b'))
    await clock.advance(250)
    expect(reader.take()).toMatchObject([{ kind: 'upsert', key: { name: 'b' } }])
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('stops in the middle of a lap when the reader falls behind there', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `dp-${index}`)
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(names) })
    await clock.advance(0)
    reader.take()
    const push = reader.frames.push.bind(reader.frames)
    reader.frames.push = (...frames) => {
      reader.bufferedBytes += 10_000
      return push(...frames)
    }
    for (const name of names) fake.board.put(insightRow(name))
    await clock.advance(250)
    expect(reader.take()).toHaveLength(7)
    reader.bufferedBytes = 0
    await clock.advance(250)
    const [snapshot] = reader.take()
    expect(snapshot).toMatchObject({ kind: 'snapshot' })
    expect(snapshot?.kind === 'snapshot' && snapshot.insights).toHaveLength(50)
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('goes by time that never jumps, and says what the clock on the wall says', async () => {
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a']) })
    await clock.advance(0)
    reader.take()
    clock.jump(-3_600_000)
    fake.board.put(insightRow('a'))
    await clock.advance(75)
    expect(reader.take()).toMatchObject([{ kind: 'upsert', now: clock.now() }])
    await reader.stop()
    expectNothingLeft(feed)
  })

  it('ends when its reader goes, whether it waits or was never begun, and leaves nothing', async () => {
    const feed = createFeed()
    const reader = read(feed, { insights: keysOf(['a']), counters: true })
    await clock.advance(0)
    expect(fake.board.listeners()).toBe(1)
    await reader.stop()
    expect(reader.isOver).toBe(true)
    expectNothingLeft(feed)

    const aborted = feed.subscribe({}, { connection: {}, bufferedAmount: () => 0, signal: AbortSignal.abort() })
    expect(await aborted.next()).toEqual({ done: true, value: undefined })
    feed.subscribe({}, { connection: {}, bufferedAmount: () => 0, signal: undefined })
    expectNothingLeft(feed)
  })

  it('ends when its reader returns in the middle of a frame', async () => {
    const feed = createFeed()
    const frames = feed.subscribe({ counters: true }, { connection: {}, bufferedAmount: () => 0, signal: undefined })
    await frames.next()
    expect(feed.size()).toBe(1)
    await frames.return()
    expectNothingLeft(feed)
  })

  it('keeps one listener for all, until the last reader goes', async () => {
    const feed = createFeed()
    const readers = ['a', 'a', 'b'].map((name) => read(feed, { insights: keysOf([name]) }))
    await clock.advance(0)
    expect(fake.board.listeners()).toBe(1)
    await readers[0]?.stop()
    fake.board.put(insightRow('a'))
    await clock.advance(250)
    expect(readers.map(({ frames }) => frames.length)).toEqual([1, 2, 1])
    await Promise.all(readers.map((reader) => reader.stop()))
    expectNothingLeft(feed)
  })

  it('refuses more subscriptions than it has room for, in all and on one connection', async () => {
    const feed = createFeed({ maxSubscriptions: 3, maxPerConnection: 2 })
    const connection = {}
    const readers = [read(feed, {}, connection), read(feed, {}, connection)]
    await clock.advance(0)
    expect(() => read(feed, {}, connection)).toThrow(/at most 2/)
    readers.push(read(feed, {}))
    await clock.advance(0)
    expect(() => read(feed, {})).toThrow(/close some pages/)
    await readers[0]?.stop()
    readers.push(read(feed, {}, connection))
    await Promise.all(readers.map((reader) => reader.stop()))
    expectNothingLeft(feed)
  })

  it('ends everything when it closes, and refuses what comes after', async () => {
    const feed = createFeed()
    const readers = [read(feed, { counters: true }), read(feed, {})]
    await clock.advance(0)
    feed.close()
    await clock.advance(0)
    expect(readers.map(({ isOver }) => isOver)).toEqual([true, true])
    expect(() => read(feed, {})).toThrow(/stopping/)
    expectNothingLeft(feed)
  })

  it('hands a failure of the board to the one reader it hits', async () => {
    const { board, links } = fake.controlPlane
    const feed = createLiveFeed({
      board,
      links,
      attention: fake.controlPlane.attention,
      readers: fake.controlPlane.readers,
      clock,
      counters: () => (null as never as () => never)(),
    })
    const [broken, well] = [read(feed, { counters: true }), read(feed, {})]
    await clock.advance(0)
    expect(broken.failed).toBeInstanceOf(TypeError)
    expect(well.isOver).toBe(false)
    await well.stop()
    expectNothingLeft(feed)
  })

  it('whatever happens, replaying its frames gives the rows of the board', async () => {
    const names = ['a', 'b', 'c', 'd']
    const event = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), name: fc.constantFrom(...names), version: fc.nat(99) }),
      fc.record({ kind: fc.constant('remove' as const), name: fc.constantFrom(...names) }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(600) }),
      fc.record({ kind: fc.constant('buffer' as const), bytes: fc.constantFrom(0, 50_000, STALL_ABOVE_BYTES + 1) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        clock = createFakeClock()
        fake = createFakeControlPlane(clock)
        const feed = createFeed()
        const scope = ['a', 'b', 'c']
        const reader = read(feed, { insights: keysOf(scope) })
        for (const happening of events) {
          if (happening.kind === 'put') fake.board.put(insightRow(happening.name, { version: String(happening.version) }))
          else if (happening.kind === 'remove') fake.board.remove(insightKey(happening.name))
          else if (happening.kind === 'wait') await clock.advance(happening.ms)
          else reader.bufferedBytes = happening.bytes
        }
        reader.bufferedBytes = 0
        await clock.advance(500)
        const expected = new Map([...fake.board.rows()].filter(([, { key }]) => scope.includes(key.name)))
        expect(replay(reader.frames)).toEqual(expected)
        await reader.stop()
        expectNothingLeft(feed)
      }),
      { numRuns: 60 },
    )
  })

  it('stays cheap on a fast board: 10,000 changes over 50,000 keys touch only the rows on a screen', async () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `dp-${index}`)
    for (const name of names) fake.board.put(insightRow(name))
    const feed = createFeed()
    const readers = Array.from({ length: 20 }, (_, screen) => read(feed, { insights: keysOf(names.slice(screen * 50, screen * 50 + 50)) }))
    await clock.advance(0)
    for (const reader of readers) reader.take()
    for (let change = 0; change < 10_000; change++) fake.board.put(insightRow(names[(change * 7) % 50_000] ?? '', { version: 'new' }))
    await clock.advance(250)
    const sent = readers.flatMap((reader) => reader.take())
    const onScreen = names.slice(0, 1_000).filter((name) => fake.board.rows().get(toKeyString(insightKey(name)))?.version === 'new')
    expect(sent).toHaveLength(onScreen.length)
    await Promise.all(readers.map((reader) => reader.stop()))
    expectNothingLeft(feed)
  })
})

/** What a page makes of the frames. */
function replay(frames: readonly LiveFrame[]): Map<string, InsightRow> {
  const rows = new Map<string, InsightRow>()
  for (const frame of frames) {
    if (isLinkFrame(frame)) continue
    switch (frame.kind) {
      case 'snapshot':
        rows.clear()
        for (const row of frame.insights ?? []) rows.set(toKeyString(row.key), row)
        break
      case 'upsert':
        if (frame.key !== 'counters' && frame.key !== 'glance') rows.set(toKeyString(frame.key), frame.value)
        break
      case 'remove':
        rows.delete(toKeyString(frame.key))
        break
      case 'tick':
        break
    }
  }
  return rows
}

import { afterEach, expect, it, vi } from 'vitest'
import { createFakeClock, type FakeClock } from '../lib/fake-clock.ts'
import { createTunable } from '../lib/tunable.ts'
import { createLinkRegistry } from '../link/link-registry.ts'
import { createPlainGatePolicy, createPlainTuning, silentLog, silentObserver } from '../link/testing/scripted-connector.ts'
import type { LinkRow, LinkStateKind } from '../model/link-row.ts'
import { createKubeClient } from './kube-client.ts'
import { loadKubeContexts } from './kube-contexts.ts'
import { createReflector } from './reflector.ts'
import {
  bookmark,
  configMap,
  END_OF_LIST,
  type Reply,
  type ScriptedApi,
  type ScriptedHandler,
  startScriptedApi,
} from './testing/scripted-api.ts'
import { createWatchConnector } from './watch-connector.ts'

/** A watcher in a link as the product runs it, over HTTP, with its waits on a clock that is moved by hand. */
interface WatchedLink {
  readonly clock: FakeClock
  row(): LinkRow
  names(): readonly string[]
  /** Once what is on its way over HTTP has led there. */
  until(state: LinkStateKind): Promise<LinkRow>
}

let api: ScriptedApi
let end: () => Promise<void>
afterEach(async () => {
  await end()
  await api.stop()
})

async function watch(handler: ScriptedHandler): Promise<WatchedLink> {
  api = await startScriptedApi()
  api.answerWith(handler)
  const clock = createFakeClock()
  const reflector = createReflector<string>(clock, { digest: () => '' })
  const tuning = createPlainTuning()
  const links = createLinkRegistry({
    clock,
    random: () => 0.5,
    log: silentLog,
    observer: silentObserver,
    tuningOf: () => tuning,
    gatePolicy: createPlainGatePolicy(),
  })
  const connector = createWatchConnector(
    {
      clock,
      client: createKubeClient(loadKubeContexts(api.kubeconfig).context(undefined), clock),
      writer: reflector.writer,
      changedAt: () => undefined,
      serverTimeoutMs: createTunable(290_000),
      idleTimeoutMs: createTunable(295_000),
    },
    { apiVersion: 'v1', kind: 'ConfigMap' },
  )
  links.add({ id: 'maps', kind: 'watch', endpoint: api.url, subject: 'v1 ConfigMap', connector })
  const stopping = new AbortController()
  const running = links.run(stopping.signal)
  end = async () => {
    stopping.abort()
    await running
    expect(clock.pending()).toBe(0)
  }
  const row = () => links.row('maps')!
  return {
    clock,
    row,
    names: () => [...reflector.entries()].map(([name, { version }]) => `${name}@${version}`),
    async until(state) {
      await vi.waitFor(() => expect(row().state.kind).toBe(state), { interval: 1 })
      return row()
    },
  }
}

it('a server that ends each watch at once is asked ever more seldom, less than ten times in the first minute, and one that lived is followed at once', async () => {
  let lives: Reply | undefined
  let isClosing = true
  const link = await watch((request, reply) => {
    reply.stream()
    if (request.isStreamingList) {
      reply.line('ADDED', configMap('a', '1'))
      reply.line('BOOKMARK', bookmark('5', END_OF_LIST))
    }
    if (isClosing) reply.end()
    else lives = reply
  })
  const waits: number[] = []
  let inFirstMinute = 0
  for (let watches = 0; watches < 100; watches++) {
    const { state, lastError } = await link.until('waiting')
    expect(lastError).toMatchObject({ class: 'closed_early' })
    if (link.clock.monotonic() < 60_000) inFirstMinute = api.requests.length
    const waitMs = state.until! - link.clock.now()
    waits.push(waitMs)
    await link.clock.advance(waitMs)
    await vi.waitFor(() => expect(api.requests).toHaveLength(watches + 2), { interval: 1 })
  }
  expect(waits.slice(0, 7)).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000])
  expect(new Set(waits.slice(6))).toEqual(new Set([30_000]))
  expect(inFirstMinute).toBeLessThan(10)
  expect(link.row()).toMatchObject({ health: 'unhealthy', relists: { start: 1 } })

  // One that lived is followed by the next without a wait.
  const before = await link.until('waiting')
  isClosing = false
  await link.clock.advance(before.state.until! - link.clock.now())
  await vi.waitFor(() => expect(lives).toBeDefined(), { interval: 1 })
  lives!.line('MODIFIED', configMap('a', '6'))
  await link.until('live')
  await link.clock.advance(130_000)
  const last = api.requests.length
  lives!.end()
  await vi.waitFor(() => expect(api.requests).toHaveLength(last + 1), { interval: 1 })
  expect(api.requests.at(-1)).toContain('resourceVersion=6')
  await link.clock.advance(250)
  expect(await link.until('live')).toMatchObject({ health: 'healthy' })
})

it('a server that ends gracefully is followed for the minute it holds the watch, then waited for, and followed again from there', async () => {
  let open: Reply | undefined
  const link = await watch((request, reply) => {
    reply.stream()
    if (request.isStreamingList) {
      reply.line('ADDED', configMap('a', '1'))
      reply.line('BOOKMARK', bookmark('5', END_OF_LIST))
    } else if (!request.isWatch) return reply.end()
    open = reply
  })
  const { stateSince } = await link.until('live')
  await api.refuse()
  for (let second = 0; second < 60; second += 10) {
    await link.clock.advance(10_000)
    open!.line('MODIFIED', configMap('a', `${10 + second}`))
    await vi.waitFor(() => expect(link.names()).toEqual([`default/a@${10 + second}`]), { interval: 1 })
    expect(link.row()).toMatchObject({ state: { kind: 'live' }, stateSince, health: 'healthy', lastError: null })
  }
  open!.end()
  expect(await link.until('waiting')).toMatchObject({ lastError: { class: 'network' }, probing: true, health: 'healthy' })
  await api.accept()
  await link.clock.advance(1_000)
  await vi.waitFor(() => expect(api.requests.at(-1)).toContain('watch=1'), { interval: 1 })
  await link.clock.advance(250)
  expect(await link.until('live')).toMatchObject({ relists: { start: 1 } })
  expect(api.requests.at(-1)).toContain('resourceVersion=60')
})

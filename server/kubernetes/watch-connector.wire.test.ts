import { writeFileSync } from 'node:fs'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createSystemClock } from '../lib/clock.ts'
import { createTunable } from '../lib/tunable.ts'
import type { LinkAttempt } from '../link/connector.ts'
import { isLinkFailure, type LinkFailure } from '../link/link-failure.ts'
import { createKubeClient } from './kube-client.ts'
import { loadKubeContexts } from './kube-contexts.ts'
import type { KubeObject } from './kube-object.ts'
import { createReflector, type ReflectorChange } from './reflector.ts'
import {
  bookmark,
  configMap,
  END_OF_LIST,
  kubeconfigText,
  type Reply,
  type ScriptedApi,
  type ScriptedHandler,
  startScriptedApi,
} from './testing/scripted-api.ts'
import { recordedAnswer } from './testing/recorded.ts'
import { createWatchConnector } from './watch-connector.ts'
import type { WatcherConfig } from './watched-kind.ts'

const clock = createSystemClock()
let api: ScriptedApi
afterEach(() => api.stop())

interface Watcher {
  /** One attempt: how it ended. */
  connect(): Promise<'ended' | LinkFailure>
  stop(): void
  readonly log: string[]
  readonly changes: string[]
  /** What came with a lag. */
  readonly lags: string[]
  names(): readonly string[]
}

async function start(handler: ScriptedHandler, changes: Partial<WatcherConfig> & { idleTimeoutMs?: number } = {}): Promise<Watcher> {
  api = await startScriptedApi()
  api.answerWith(handler)
  const { idleTimeoutMs = 5_000, ...config } = changes
  const client = createKubeClient(loadKubeContexts(api.kubeconfig).context(config.context), clock)
  const reflector = createReflector<string>(clock, {
    digest(object: KubeObject) {
      const data = (object as { data?: { v?: string } }).data
      if (data?.v === 'unreadable') throw new TypeError('v is unreadable')
      return data?.v ?? ''
    },
  })
  const log: string[] = []
  const seen: string[] = []
  const lags: string[] = []
  reflector.onChange((change: ReflectorChange<string>) =>
    seen.push(change.kind === 'set' ? `set ${change.name}@${change.entry.version}` : `deleted ${change.name}@${change.before.version}`),
  )
  const connector = createWatchConnector(
    {
      clock,
      client,
      writer: reflector.writer,
      changedAt: () => 0,
      serverTimeoutMs: createTunable(4_000),
      idleTimeoutMs: createTunable(idleTimeoutMs),
    },
    { apiVersion: 'v1', kind: 'ConfigMap', ...config },
  )
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const attempt: LinkAttempt = {
    signal: stopping.signal,
    number: 1,
    syncing: () => void log.push('syncing'),
    live: () => void (log.at(-1) === 'live' || log.push('live')),
    event(kind, { lagMs } = {}) {
      log.push(kind)
      if (lagMs !== undefined) lags.push(kind)
    },
    bookmark: () => {},
    request: (verb, code) => void log.push(`${verb} ${code}`),
    relist: (reason) => void log.push(`relist: ${reason}`),
    bad: (what) => void log.push(`bad: ${what}`),
    objects: () => {},
    note: () => {},
    listTurn: async () => () => {},
  }
  return {
    async connect() {
      try {
        await connector.connect(attempt)
        return 'ended'
      } catch (error) {
        if (isLinkFailure(error)) return error
        throw error
      }
    },
    stop: () => stopping.abort(new DOMException('stopped', 'AbortError')),
    log,
    changes: seen,
    lags,
    names: () => [...reflector.entries()].map(([name, { version }]) => `${name}@${version}`),
  }
}

/** A streaming list of these, at this version. */
function streamList(reply: Reply, objects: readonly unknown[], version: string) {
  reply.stream()
  for (const object of objects) reply.line('ADDED', object)
  reply.line('BOOKMARK', bookmark(version, END_OF_LIST))
}
const refuseStreaming = (reply: Reply) =>
  reply.json({ kind: 'Status', code: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden' }, 422)
/** Refuses streaming lists, so that pages are read. */
const byPages =
  (handler: ScriptedHandler): ScriptedHandler =>
  (request, reply) =>
    request.isStreamingList ? refuseStreaming(reply) : handler(request, reply)

describe('list + watch', () => {
  it('reads everything and follows it in one stream, as the real server sends it', async () => {
    const watcher = await start((_, reply) => {
      reply.stream()
      reply.raw(recordedAnswer('watch-list.txt').body.trim() + '\n')
      reply.line('MODIFIED', {
        kind: 'Namespace',
        metadata: { name: 'default', uid: '4e84e421-c29a-4aa4-92bb-4c2809fc3739', resourceVersion: '214' },
      })
      reply.end()
    })
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.log).toEqual(['connect 200', 'syncing', 'list 200', 'relist: start', 'live', 'modified'])
    expect(watcher.names()).toEqual(['default@214', 'kube-node-lease@35', 'kube-public@20', 'kube-system@5'])
    expect(api.requests[0]).toBe(
      '/api/v1/configmaps?watch=1&allowWatchBookmarks=true&timeoutSeconds=4&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    )
  })

  it('follows creation, change and deletion as recorded, wherever the bytes are cut, and goes on from the last version', async () => {
    const events = Buffer.from(`${recordedAnswer('watch-events.txt').body.trim()}\n`)
    const watcher = await start((request, reply) => {
      if (request.isStreamingList) return (streamList(reply, [], '219'), reply.end())
      reply.stream()
      if (request.query.get('resourceVersion') !== '219') return reply.end()
      for (let at = 0; at < events.length; at += 7) reply.raw(events.subarray(at, at + 7))
      reply.end()
    })
    await watcher.connect()
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.changes).toEqual(['set default/w1@220', 'set default/w1@221', 'deleted default/w1@222'])
    await watcher.connect()
    expect(api.requests.at(-1)).toContain('resourceVersion=222')
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toEqual(['relist: start'])
  })

  it('tells the lag of what was created and changed, not of what was deleted: that says when it was last written, not when it went', async () => {
    const watcher = await start((request, reply) => {
      if (!request.isStreamingList) return
      streamList(reply, [configMap('a', '1')], '1')
      reply.line('ADDED', configMap('b', '2'))
      reply.line('MODIFIED', configMap('a', '3'))
      reply.line('DELETED', configMap('a', '4'))
      reply.end()
    })
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.lags).toEqual(['added', 'modified'])
  })

  it('reads pages of 500 where there is no streaming list, all of them, without a version beside a page token', async () => {
    const pages = [
      { items: [configMap('a', '1')], metadata: { resourceVersion: '218', continue: 'first' } },
      { items: [configMap('b', '2')], metadata: { resourceVersion: '218', continue: 'second' } },
      { items: [configMap('c', '3')], metadata: { resourceVersion: '218', continue: '' } },
    ]
    const watcher = await start(
      byPages((request, reply) => {
        if (request.isWatch) return (reply.stream(), reply.end())
        const page = pages[[null, 'first', 'second'].indexOf(request.query.get('continue'))]!
        reply.list(page.items, page.metadata)
      }),
      { namespace: 'default', labelSelector: 'app=web' },
    )
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.names()).toEqual(['default/a@1', 'default/b@2', 'default/c@3'])
    expect(api.requests.slice(1)).toEqual([
      '/api/v1/namespaces/default/configmaps?labelSelector=app%3Dweb&limit=500',
      '/api/v1/namespaces/default/configmaps?labelSelector=app%3Dweb&limit=500&continue=first',
      '/api/v1/namespaces/default/configmaps?labelSelector=app%3Dweb&limit=500&continue=second',
      '/api/v1/namespaces/default/configmaps?labelSelector=app%3Dweb&watch=1&allowWatchBookmarks=true&timeoutSeconds=4&resourceVersion=218',
    ])
  })

  it('drops a list whose page token expired and begins again, without the inconsistent token and without deleting anything', async () => {
    let isExpired = true
    const watcher = await start(
      byPages((request, reply) => {
        if (request.isWatch) return (reply.stream(), reply.end())
        const token = request.query.get('continue')
        if (token === null) return reply.list([configMap('a', '1')], { resourceVersion: '218', continue: 't1' })
        if (!isExpired) return reply.list([configMap('b', '2')])
        isExpired = false
        reply.recorded('expired-continue.txt')
      }),
    )
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.names()).toEqual(['default/a@1', 'default/b@2'])
    expect(watcher.changes).toEqual(['set default/a@1', 'set default/b@2'])
    expect(api.requests.map((path) => /continue=([^&]+)/.exec(path)?.[1] ?? '-')).toEqual(['-', '-', 't1', '-', 't1', '-'])
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toEqual(['relist: gone'])
  })

  it('begins again only with backoff when page tokens expire twice in a row', async () => {
    const watcher = await start(
      byPages((request, reply) =>
        request.query.has('continue') ? reply.recorded('expired-continue.txt') : reply.list([], { resourceVersion: '1', continue: 't1' }),
      ),
    )
    expect(await watcher.connect()).toMatchObject({ class: 'gone' })
    expect(watcher.log.filter((line) => line === 'list 410')).toHaveLength(2)
  })

  it.each([
    [
      'as an ERROR event',
      (reply: Reply) => (reply.stream(), reply.raw(recordedAnswer('expired-watch.txt').body.trim() + '\n'), reply.end()),
    ],
    ['as HTTP status', (reply: Reply) => reply.recorded('expired-exact.txt')],
  ])('reads everything again at once when a watch is answered with 410 %s, telling exactly what is different', async (_, expire) => {
    let lists = 0
    const watcher = await start((request, reply) => {
      if (!request.isStreamingList) return expire(reply)
      const first = [configMap('a', '1'), configMap('b', '2'), configMap('c', '3')]
      streamList(reply, lists++ === 0 ? first : [configMap('a', '1'), configMap('c', '4'), configMap('d', '5')], `${lists}00`)
      reply.end()
    })
    expect(await watcher.connect()).toBe('ended')
    watcher.changes.length = 0
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.changes).toEqual(['deleted default/b@2', 'set default/c@4', 'set default/d@5'])
    expect(watcher.names()).toEqual(['default/a@1', 'default/c@4', 'default/d@5'])
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toEqual(['relist: start', 'relist: gone'])
  })

  it('does not take 410s for a row that are apart: between them a watch was well, though nothing came', async () => {
    let restarts = 0
    const watcher = await start((request, reply) => {
      if (!request.isWatch) return reply.list([])
      if (!request.isStreamingList) return reply.recorded('expired-exact.txt')
      streamList(reply, [configMap('a', '1')], `${++restarts}`)
      return setTimeout(() => reply.cut(), 350)
    })
    for (let times = 0; times < 3; times++) expect(await watcher.connect()).toMatchObject({ class: 'network' })
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toEqual(['relist: start', 'relist: gone', 'relist: gone'])
  })

  it('tries a version from the future twice more, as the server asks, then lists without one', async () => {
    const watcher = await start((request, reply) => {
      if (!request.isStreamingList) return reply.recorded('future-version.txt')
      streamList(reply, [configMap('a', '1')], '99999999')
      reply.end()
    })
    await watcher.connect()
    for (let times = 0; times < 2; times++)
      expect(await watcher.connect()).toMatchObject({ class: 'server', retryAfterMs: 1_000, endpointDown: false })
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toEqual(['relist: start', 'relist: future_version'])
  })

  it('finds a version from the future though the server accepts a watch from it and stays silent', async () => {
    let isRestored = false
    const watcher = await start((request, reply) => {
      if (request.isStreamingList) {
        streamList(reply, isRestored ? [configMap('a', '1')] : [configMap('a', '1'), configMap('lost', '900')], isRestored ? '5' : '900')
        return setTimeout(() => reply.cut(), 30)
      }
      if (request.isWatch) return reply.stream()
      return isRestored && request.query.get('resourceVersionMatch') === 'NotOlderThan'
        ? reply.recorded('future-version.txt')
        : reply.list([])
    })
    expect(await watcher.connect()).toMatchObject({ class: 'network' })
    isRestored = true
    for (let times = 0; times < 2; times++) expect(await watcher.connect()).toMatchObject({ class: 'server', endpointDown: false })
    expect(await watcher.connect()).toMatchObject({ class: 'network' })
    expect(watcher.names()).toEqual(['default/a@1'])
    expect(watcher.changes.at(-1)).toBe('deleted default/lost@900')
    expect(api.requests[1]).toBe('/api/v1/configmaps?limit=1&resourceVersion=900&resourceVersionMatch=NotOlderThan')
  })

  it('never watches from a list without a version', async () => {
    const watcher = await start(byPages((_, reply) => reply.list([configMap('a', '1')], {})))
    expect(await watcher.connect()).toMatchObject({ class: 'protocol', message: expect.stringContaining('no resource version') })
    expect(api.requests.filter((path) => path.includes('watch=1&') && !path.includes('sendInitialEvents'))).toEqual([])
  })

  it('keeps its version when a bookmark brings none', async () => {
    const watcher = await start((request, reply) => {
      if (request.isStreamingList) streamList(reply, [], '50')
      else reply.stream()
      reply.line('BOOKMARK', { metadata: {} })
      reply.end()
    })
    await watcher.connect()
    await watcher.connect()
    expect(api.requests.at(-1)).toContain('resourceVersion=50')
  })

  it('takes versions for what they are, however near as numbers and whatever their order as text, and sends back the last as it came', async () => {
    const watcher = await start((request, reply) => {
      if (!request.isStreamingList) reply.stream()
      else {
        streamList(reply, [configMap('a', '18014398509481984'), configMap('b', '9')], '18014398509481984')
        reply.line('MODIFIED', configMap('b', '10'))
        reply.line('MODIFIED', configMap('a', '18014398509481985'))
      }
      reply.end()
    })
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.changes.slice(2)).toEqual(['set default/b@10', 'set default/a@18014398509481985'])
    await watcher.connect()
    expect(api.requests.at(-1)).toMatch(/&resourceVersion=18014398509481985$/)
  })

  it('counts and names a bad line and an unreadable object, and follows the rest', async () => {
    const watcher = await start((_, reply) => {
      reply.stream()
      reply.line('ADDED', { metadata: { name: 'nameless' } })
      reply.line('ADDED', configMap('good', '1'))
      reply.line('ADDED', configMap('odd', '2', { v: 'unreadable' }))
      reply.line('BOOKMARK', bookmark('9', END_OF_LIST))
      reply.raw('{"type":"ADDED","obj\n')
      reply.line('SURPRISE', {})
      reply.line('MODIFIED', configMap('odd', '10', { v: 'unreadable' }))
      reply.line('MODIFIED', configMap('good', '11'))
      reply.end()
    })
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.names()).toEqual(['default/good@11'])
    expect(watcher.log.filter((line) => line.startsWith('bad'))).toEqual([
      'bad: ADDED of an object without name or version: nameless',
      'bad: default/odd: v is unreadable',
      'bad: a line that is no JSON: {"type":"ADDED","obj',
      'bad: an event of unknown type SURPRISE: {"type":"SURPRISE","object":{}}',
      'bad: default/odd: v is unreadable',
    ])
  })

  it('throws a half line away when the connection is cut, and goes on from the last good version', async () => {
    const watcher = await start((request, reply) => {
      if (!request.isStreamingList) return (reply.stream(), reply.end())
      streamList(reply, [], '5')
      reply.line('ADDED', configMap('a', '6'))
      reply.raw('{"type":"ADDED","obj')
      setTimeout(() => reply.cut(), 30)
    })
    expect(await watcher.connect()).toMatchObject({ class: 'network' })
    await watcher.connect()
    expect(api.requests.at(-1)).toContain('resourceVersion=6')
    expect(watcher.log.filter((line) => line.startsWith('bad'))).toEqual([])
  })

  it('gives up a watch that is silent for longer than it may, and goes on without reading everything again', async () => {
    const watcher = await start(
      (request, reply) => (request.isStreamingList ? streamList(reply, [configMap('a', '1')], '5') : (reply.stream(), reply.end())),
      { idleTimeoutMs: 150 },
    )
    expect(await watcher.connect()).toMatchObject({ class: 'idle' })
    await watcher.connect()
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toEqual(['relist: start'])
  })

  it('does not take a stream for silent while bookmarks come', async () => {
    const watcher = await start(
      (_, reply) => {
        streamList(reply, [], '5')
        let left = 6
        const timer = setInterval(() => (left-- > 0 ? reply.line('BOOKMARK', bookmark('5')) : (clearInterval(timer), reply.end())), 60)
      },
      { idleTimeoutMs: 150 },
    )
    expect(await watcher.connect()).toBe('ended')
  })

  it('reads pages when a server takes the request for a streaming list and does not know what that is', async () => {
    const watcher = await start((request, reply) => {
      if (!request.isWatch) return reply.list([configMap('a', '1')])
      reply.stream()
      if (!request.isStreamingList) return reply.end()
      reply.line('ADDED', configMap('a', '1'))
      reply.line('BOOKMARK', bookmark('5'))
    })
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.names()).toEqual(['default/a@1'])
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toEqual(['relist: start'])
  })

  it('keeps its version over 429 and waits as long as it was told', async () => {
    const watcher = await start((request, reply) => {
      if (request.isStreamingList) return (streamList(reply, [], '5'), reply.end())
      reply.json({ kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'slow down' }, 429, { 'retry-after': '3' })
    })
    await watcher.connect()
    expect(await watcher.connect()).toMatchObject({ class: 'throttled', retryAfterMs: 3_000 })
    expect(await watcher.connect()).toMatchObject({ class: 'throttled' })
    expect(watcher.log.filter((line) => line.startsWith('relist'))).toHaveLength(1)
  })

  it('is not live while its watch is refused, though its list is not', async () => {
    const watcher = await start(byPages((request, reply) => (request.isWatch ? reply.recorded('forbidden.txt') : reply.list([]))))
    expect(await watcher.connect()).toMatchObject({ class: 'forbidden', hint: expect.stringContaining('verbs: ["list", "watch"]') })
    expect(watcher.log).not.toContain('live')
  })

  it('is live when its watch was accepted and stays quiet, and stops at once', async () => {
    const watcher = await start(byPages((request, reply) => (request.isWatch ? reply.stream() : reply.list([]))))
    const connecting = watcher.connect().catch((error: Error) => error.name)
    await vi.waitFor(() => expect(watcher.log.at(-1)).toBe('live'))
    const before = performance.now()
    watcher.stop()
    expect(await connecting).toBe('AbortError')
    expect(performance.now() - before).toBeLessThan(200)
  })
})

describe('what is not there', () => {
  it('names near kinds when the server does not know the one asked for', async () => {
    const watcher = await start((_, reply) => reply.list([]), { kind: 'ConfigMapp' })
    const failure = await watcher.connect()
    expect(failure).toMatchObject({ class: 'not_found', message: 'v1 has no kind ConfigMapp' })
    expect((failure as LinkFailure).hint).toContain('Did you mean ConfigMap? v1 has ConfigMap, Node.')
  })

  it('names the versions of a group when the server does not serve the one asked for', async () => {
    const watcher = await start((_, reply) => reply.list([]), { apiVersion: 'example.com/v1', kind: 'Backup' })
    const failure = await watcher.connect()
    expect(failure).toMatchObject({ class: 'not_found', message: 'the API server does not serve example.com/v1' })
    expect((failure as LinkFailure).hint).toContain('Of this group it serves example.com/v1beta1.')
  })

  it('asks again for a kind that was missing, and finds it once it is there', async () => {
    let isInstalled = false
    const watcher = await start((request, reply) => {
      if (!isInstalled) return reply.recorded('not-found-kind.txt')
      if (request.isStreamingList) streamList(reply, [configMap('a', '1')], '5')
      reply.end()
    })
    expect(await watcher.connect()).toMatchObject({ class: 'not_found', hint: expect.stringContaining('CustomResourceDefinition') })
    isInstalled = true
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.names()).toEqual(['default/a@1'])
  })

  it('names the contexts when there is none of that name', async () => {
    await expect(start((_, reply) => reply.list([]), { context: 'egde' })).rejects.toThrow(
      'no context "egde" in the kubeconfig; it has edge, core',
    )
  })
})

describe('credentials', () => {
  it('that were refused are read anew once, and what is new is used', async () => {
    const watcher = await start((request, reply) => {
      if (request.authorization !== 'Bearer second-token') {
        writeFileSync(api.kubeconfig, kubeconfigText(api.url, { token: 'second-token' }))
        return reply.recorded('unauthorized.txt')
      }
      streamList(reply, [configMap('a', '1')], '5')
      reply.end()
    })
    expect(await watcher.connect()).toBe('ended')
    expect(watcher.log.slice(-4)).toEqual(['list 401', 'list 200', 'relist: start', 'live'])
  })

  it('come from a plugin, and from it anew when they were refused', async () => {
    const tokens: (string | undefined)[] = []
    const watcher = await start((request, reply) => {
      tokens.push(request.authorization)
      if (tokens.length === 1) {
        const script = `console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'of-the-plugin' } }))`
        const exec = {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: process.execPath,
          args: ['-e', script],
          interactiveMode: 'Never',
        }
        writeFileSync(api.kubeconfig, kubeconfigText(api.url, { exec }))
        return reply.recorded('unauthorized.txt')
      }
      streamList(reply, [], '5')
      reply.end()
    })
    expect(await watcher.connect()).toBe('ended')
    expect(tokens).toEqual(['Bearer first-token', 'Bearer of-the-plugin'])
  })

  it('that a plugin does not give fail the attempt, saying so', async () => {
    const watcher = await start((_, reply) => {
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'no-such-plugin', interactiveMode: 'Never' }
      writeFileSync(api.kubeconfig, kubeconfigText(api.url, { exec }))
      reply.recorded('unauthorized.txt')
    })
    expect(await watcher.connect()).toMatchObject({
      class: 'unauthorized',
      hint: expect.stringContaining('credential plugin'),
      endpointDown: false,
    })
  })

  it('that are refused twice fail the attempt', async () => {
    const watcher = await start((_, reply) => reply.recorded('unauthorized.txt'))
    expect(await watcher.connect()).toMatchObject({ class: 'unauthorized', hint: expect.stringContaining('context edge') })
    expect(api.requests).toHaveLength(2)
  })
})

import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSystemClock } from '../lib/clock.ts'
import { createKubeServer, type KubeServer } from './kube-server.ts'
import { createKubeStore, type KubeStore } from './kube-store.ts'

const KINDS = [
  { group: '', kind: 'ConfigMap', plural: 'configmaps', isNamespaced: true },
  { group: '', kind: 'Node', plural: 'nodes', isNamespaced: false },
]
const MAPS = '/api/v1/namespaces/default/configmaps'
/** What says when, by which server and over which HTTP (the real one was asked over HTTP/2). */
const VARYING = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'audit-id',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
  'content-length',
  'date',
])

let port: number
let store: KubeStore
let server: KubeServer

beforeEach(async () => {
  port = await freePort()
  store = createKubeStore({ firstVersion: 215, window: 3 })
  server = await createKubeServer({ clock: createSystemClock(), store }, { port, tokens: { t: 'viewer' }, kinds: KINDS })
})
afterEach(() => server.close())

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port: free } = probe.address() as AddressInfo
  await once(probe.close(), 'close')
  return free
}

const map = (name: string) => ({ metadata: { name, namespace: 'default' } })

interface Answer {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** `lines`: of a watch, so many; then it is left. */
function get(path: string, { token = 't', lines }: { readonly token?: string; readonly lines?: number } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let body = ''
      const done = () => resolve({ code: response.statusCode ?? 0, headers: response.headers, body })
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk
        if (lines !== undefined && body.split('\n').length > lines) {
          done()
          asked.destroy()
        }
      })
      response.on('end', done)
      response.on('error', () => undefined)
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** As it came over the wire from the real server. */
function recorded(name: string): Answer {
  const text = readFileSync(join(import.meta.dirname, '../kubernetes/recorded', name), 'utf8').replace(/^#.*\n/, '')
  const [head = '', ...rest] = text.split('\n\n')
  const [status = '', ...fields] = head.split('\n')
  const headers = fields.map((field) => /^([^:]+): (.*?)\s*$/.exec(field)?.slice(1) as [string, string])
  return {
    code: Number(status.split(' ')[1]),
    headers: Object.fromEntries(headers.filter(([name]) => !VARYING.has(name))),
    body: rest.join('\n\n').trimEnd(),
  }
}

function expectAsRecorded(answer: Answer, name: string) {
  const real = recorded(name)
  expect({ code: answer.code, body: answer.body.trimEnd() }).toEqual({ code: real.code, body: real.body })
  expect(Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !VARYING.has(name)))).toEqual(real.headers)
}

describe('over HTTP, the simulated API server answers byte for byte as the real one did', () => {
  it('to credentials it does not know, with 401', async () => {
    expectAsRecorded(await get(MAPS, { token: 'nobody' }), 'unauthorized.txt')
  })

  it('to who has no right, with 403', async () => {
    await server.setTrouble({ kind: 'forbidden', plural: 'nodes' })
    expectAsRecorded(await get('/api/v1/nodes'), 'forbidden.txt')
  })

  it('to a kind it does not serve, with 404 in plain text', async () => {
    expectAsRecorded(await get('/apis/example.com/v1/widgets'), 'not-found-kind.txt')
  })

  it('to a version from the future, with 504, its cause and when to come back', async () => {
    while (store.version() < 262) store.put('configmaps', map('a'))
    expectAsRecorded(await get(`${MAPS}?resourceVersion=99999999&resourceVersionMatch=NotOlderThan`), 'future-version.txt')
  })

  it('to a watch from a version it has forgotten, with 200 and one line', async () => {
    while (store.version() < 231) store.put('configmaps', map('a'))
    expectAsRecorded(await get(`${MAPS}?watch=1&resourceVersion=226`), 'expired-watch.txt')
  })

  it('to the token of a page it has forgotten, with 410 and the tempting token', async () => {
    for (const name of ['c1', 'c2', 'c3']) store.put('configmaps', map(name))
    const first = JSON.parse((await get(`${MAPS}?limit=1`)).body) as { metadata: { continue: string } }
    for (let lists = 0; lists < 16; lists++) {
      store.put('configmaps', map('c3'))
      await get(`${MAPS}?limit=1`)
    }
    const answer = await get(`${MAPS}?limit=1&continue=${first.metadata.continue}`)
    const real = recorded('expired-continue.txt')
    const withoutToken = (body: string) => body.trimEnd().replace(/"continue": "[^"]*"/, '"continue": "…"')
    expect([answer.code, withoutToken(answer.body)]).toEqual([real.code, withoutToken(real.body)])
  })
})

/** Names of fields in their order, down to what is inside `metadata`. */
function shapeOf(value: unknown): readonly string[] {
  const fields = Object.entries(value as Record<string, unknown>)
  return fields.flatMap(([name, inner]) =>
    name === 'metadata' ? [name, ...Object.keys(inner as object).map((each) => `.${each}`)] : [name],
  )
}

describe('over HTTP, the simulated API server says in the shapes of the real one', () => {
  it('a page of a list: its version, its token, and items without kind', async () => {
    for (const name of ['c1', 'c2', 'c3']) store.put('configmaps', map(name))
    const real = JSON.parse(readFileSync(join(import.meta.dirname, '../kubernetes/recorded/list-page.txt'), 'utf8').replace(/^#.*\n/, ''))
    const page = JSON.parse((await get(`${MAPS}?limit=2`)).body) as { metadata: { continue: string }; items: readonly object[] }
    expect(shapeOf(page)).toEqual(shapeOf(real))
    // The same token: of version 218, after c2.
    expect(page.metadata.continue).toBe((real as typeof page).metadata.continue)
    expect(Object.keys(page.items[0]!)).toEqual(['metadata'])
    const last = JSON.parse((await get(`${MAPS}?limit=2&continue=${page.metadata.continue}`)).body) as typeof page
    expect([last.items.length, Object.keys(last.metadata)]).toEqual([1, ['resourceVersion']])
  })

  it('a streaming list: what is, then a bookmark that ends it', async () => {
    store.put('configmaps', map('c1'))
    const { body } = await get(`${MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`, {
      lines: 2,
    })
    const lines = (text: string) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { type: string; object: object })
    const [ours, theirs] = [lines(body), lines(recorded('watch-list.txt').body)]
    expect(ours.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK'])
    const end = theirs.find(({ type }) => type === 'BOOKMARK')!
    // The recorded one is of a kind that has a spec and a status: a bookmark is an empty object of its kind.
    expect(shapeOf(ours.at(-1)!.object)).toEqual(shapeOf(end.object).filter((field) => field !== 'spec' && field !== 'status'))
    expect(ours.at(-1)).toMatchObject({ object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } } })
    expect(Object.keys(ours[0]!.object)).toEqual(['kind', 'apiVersion', 'metadata'])
  })
})

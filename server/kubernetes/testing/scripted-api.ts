import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordedAnswer } from './recorded.ts'

/** For wire tests: an API server that answers each request by a script. Plain HTTP, on a free port. */
export interface ScriptedApi {
  readonly url: string
  /** A kubeconfig with contexts `edge` (current) and `core`, both of this server. */
  readonly kubeconfig: string
  /** Paths with queries, discovery left out, in order. */
  readonly requests: string[]
  /** Answers with this from now on. */
  answerWith(answer: ScriptedHandler): void
  /** Takes no new connections, as a server that was asked to end; what is open goes on. */
  refuse(): Promise<void>
  /** Takes them again, on the same port. */
  accept(): Promise<void>
  stop(): Promise<void>
}
export type ScriptedHandler = (request: ScriptedRequest, reply: Reply) => void
export interface ScriptedRequest {
  readonly query: URLSearchParams
  readonly isWatch: boolean
  readonly isStreamingList: boolean
  readonly authorization: string | undefined
  /** Of all requests so far, this one counted. */
  readonly number: number
}
export interface Reply {
  /** As the real server answered. */
  recorded(name: string): void
  json(value: unknown, status?: number, headers?: Readonly<Record<string, string>>): void
  list(items: readonly unknown[], metadata?: Readonly<Record<string, unknown>>): void
  /** Headers of a watch; lines follow. */
  stream(): void
  line(type: string, object: unknown): void
  raw(bytes: string | Uint8Array): void
  end(): void
  /** Cuts the connection. */
  cut(): void
}

export function configMap(name: string, resourceVersion: string, data: Readonly<Record<string, string>> = {}) {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion }, data }
}
export const bookmark = (resourceVersion: string, annotations?: Readonly<Record<string, string>>) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { resourceVersion, ...(annotations === undefined ? {} : { annotations }) },
})
export const END_OF_LIST = { 'k8s.io/initial-events-end': 'true' }
const RESOURCES = {
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [
    { name: 'configmaps', singularName: 'configmap', namespaced: true, kind: 'ConfigMap', verbs: ['get', 'list', 'watch'] },
    { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', verbs: ['get', 'list', 'watch'] },
    { name: 'nodes/status', singularName: '', namespaced: false, kind: 'Node', verbs: ['get', 'patch'] },
    { name: 'bindings', singularName: 'binding', namespaced: true, kind: 'Binding', verbs: ['create'] },
  ],
}
const GROUPS = {
  kind: 'APIGroupList',
  groups: [{ name: 'example.com', versions: [{ groupVersion: 'example.com/v1beta1', version: 'v1beta1' }] }],
}

export async function startScriptedApi(): Promise<ScriptedApi> {
  const requests: string[] = []
  let handler: ScriptedHandler = (_, reply) => reply.recorded('forbidden.txt')
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://api')
    const reply = createReply(request, response)
    // Of one that takes no connections any more, an ended answer is the end of its connection.
    response.on('finish', () => server.listening || request.socket.end())
    if (url.pathname === '/api/v1') return reply.json(RESOURCES)
    if (url.pathname === '/apis') return reply.json(GROUPS)
    if (url.pathname.split('/').length === 4 && url.pathname.startsWith('/apis/')) return reply.recorded('not-found-kind.txt')
    requests.push(request.url ?? '')
    handler(
      {
        query: url.searchParams,
        isWatch: url.searchParams.get('watch') === '1',
        isStreamingList: url.searchParams.get('sendInitialEvents') === 'true',
        authorization: request.headers.authorization,
        number: requests.length,
      },
      reply,
    )
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const folder = mkdtempSync(join(tmpdir(), 'tidewatch-kube-'))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(url, { token: 'first-token' }))
  return {
    url,
    kubeconfig,
    requests,
    answerWith: (answer) => (handler = answer),
    async refuse() {
      server.close()
    },
    accept: () => listen(port),
    async stop() {
      rmSync(folder, { recursive: true, force: true })
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** `user` as kubeconfigs have it. */
export function kubeconfigText(url: string, user: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'edge',
    clusters: [{ name: 'test', cluster: { server: url } }],
    users: [{ name: 'us', user }],
    contexts: ['edge', 'core'].map((name) => ({ name, context: { cluster: 'test', user: 'us' } })),
  })
}

function createReply(request: IncomingMessage, response: ServerResponse): Reply {
  const reply: Reply = {
    recorded(name) {
      const { status, headers, body } = recordedAnswer(name)
      response.writeHead(status, headers).end(body)
    },
    json: (value, status = 200, headers = {}) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value)),
    list: (items, metadata = { resourceVersion: '218' }) => reply.json({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items }),
    stream() {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
    },
    line: (type, object) => reply.raw(`${JSON.stringify({ type, object })}\n`),
    raw: (bytes) => void response.write(bytes),
    end: () => void response.end(),
    cut: () => void request.socket.destroy(),
  }
  return reply
}

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** For tests: a simulated Kuma control plane that pages, refuses and answers as real ones were recorded to. Plain HTTP. */
export interface RecordedKuma {
  readonly url: string
  /** Paths with queries, in order. */
  readonly requests: string[]
  /** Rows of a list, to be changed in place; of `/` and `/config` the object. */
  answers: Record<string, unknown>
  /** The one token that is not refused; no token is not, either. */
  token: string
  /** Every request is answered with this. */
  failWith: { readonly code: number; readonly headers?: Readonly<Record<string, string>> } | undefined
  metrics: string
  stop(): Promise<void>
  /** Listens again where it did. */
  start(): Promise<void>
}
export type Recording = 'v3-global' | 'v3-zone' | 'v2.14-global' | 'v2.14-zone'

export function recorded(recording: Recording): Record<string, unknown> {
  return JSON.parse(readFileSync(join(import.meta.dirname, '..', 'recorded', `${recording}.json`), 'utf8')) as Record<string, unknown>
}

export async function startRecordedKuma(recording: Recording): Promise<RecordedKuma> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://kuma')
    kuma.requests.push(request.url ?? '/')
    const json = (code: number, value: unknown) =>
      void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value, null, 1))
    const problem = (status: number, title: string, detail: string) =>
      json(status, { type: '/std-errors', status, title, detail, details: detail })
    if (kuma.failWith !== undefined) return void response.writeHead(kuma.failWith.code, kuma.failWith.headers).end('down')
    if (pathname === '/metrics') return void response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(kuma.metrics)
    const { authorization } = request.headers
    if (pathname !== '/' && authorization !== undefined && authorization !== `Bearer ${kuma.token}`)
      return problem(401, 'Invalid authentication data', 'Unauthenticated')
    const answer = kuma.answers[pathname]
    if (answer === undefined)
      return pathname.startsWith('/meshes/')
        ? problem(404, 'Failed to retrieve Mesh', 'Not found')
        : void response.writeHead(404, { 'content-type': 'text/plain' }).end('404: Page Not Found')
    if (!Array.isArray(answer)) return json(200, answer)
    const [size, offset] = [Number(searchParams.get('size') ?? 100), Number(searchParams.get('offset') ?? 0)]
    if (!Number.isInteger(size) || size < 1 || size > 1_000) return problem(400, 'Could not retrieve resources', 'Invalid page size')
    const next = offset + size < answer.length ? `http://elsewhere.example${pathname}?offset=${offset + size}&size=${size}` : null
    return json(200, { total: answer.length, items: answer.slice(offset, offset + size), next })
  })
  let port = 0
  const start = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await start()
  port = (server.address() as AddressInfo).port
  const kuma: RecordedKuma = {
    url: `http://127.0.0.1:${port}`,
    requests: [],
    answers: recorded(recording),
    token: 'good',
    failWith: undefined,
    metrics: '',
    start,
    async stop() {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
  return kuma
}

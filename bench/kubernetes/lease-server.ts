/** An API server of its own process with Leases that are renewed: lists by pages or in a stream, watches at a steady rate. Prints its port. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const [objects = 50_000, perSecond = 2_000] = process.argv.slice(2).map(Number)
const TICK_MS = 5
let version = objects

const managedFields = [
  {
    manager: 'kubelet',
    operation: 'Update',
    apiVersion: 'coordination.k8s.io/v1',
    time: '2026-12-01T08:45:57Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:metadata': { 'f:ownerReferences': {} },
      'f:spec': { 'f:holderIdentity': {}, 'f:leaseDurationSeconds': {}, 'f:renewTime': {} },
    },
  },
]
const body = (index: number, resourceVersion: number) => ({
  kind: 'Lease',
  apiVersion: 'coordination.k8s.io/v1',
  metadata: {
    name: `node-${index}`,
    namespace: 'kube-node-lease',
    uid: `bf8c6807-3bbc-4561-96de-${String(index).padStart(12, '0')}`,
    resourceVersion: String(resourceVersion),
    creationTimestamp: '2026-12-01T08:45:57Z',
    managedFields,
  },
  spec: { holderIdentity: `node-${index}`, leaseDurationSeconds: 40, renewTime: new Date().toISOString().replace('Z', '000Z') },
})
const texts = Array.from({ length: objects }, (_, index) => JSON.stringify(body(index, index + 1)))

createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://server')
  const { searchParams: query, pathname } = url
  response.setHeader('content-type', 'application/json')
  if (pathname === '/apis/coordination.k8s.io/v1')
    return response.end(JSON.stringify({ resources: [{ name: 'leases', kind: 'Lease', namespaced: true, verbs: ['list', 'watch'] }] }))
  if (query.get('watch') === null || query.get('watch') === 'false') return list(query, response)
  if (query.get('sendInitialEvents') !== 'true') return watch(response)
  // A server without streaming lists, when asked to be one.
  if (query.get('labelSelector') === 'pages')
    return response.writeHead(422).end(JSON.stringify({ kind: 'Status', code: 422, reason: 'Invalid' }))
  return void stream(response)
}).listen(0, '127.0.0.1', function (this: { address(): unknown }) {
  console.log(JSON.stringify({ port: (this.address() as AddressInfo).port }))
})

function list(query: URLSearchParams, response: ServerResponse) {
  const from = Number(query.get('continue') ?? 0)
  const limit = Number(query.get('limit') ?? objects)
  const next = from + limit < objects ? String(from + limit) : ''
  const metadata = JSON.stringify({ resourceVersion: String(version), continue: next })
  response.end(
    `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":${metadata},"items":[${texts.slice(from, from + limit).join(',')}]}`,
  )
}

async function stream(response: ServerResponse) {
  for (let from = 0; from < objects; from += 100) {
    const lines = texts.slice(from, from + 100).map((text) => `{"type":"ADDED","object":${text}}\n`)
    if (!response.write(lines.join(''))) await new Promise((resolve) => response.once('drain', resolve))
  }
  response.write(
    `${JSON.stringify({ type: 'BOOKMARK', object: { kind: 'Lease', metadata: { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } } } })}\n`,
  )
  watch(response)
}

function watch(response: ServerResponse) {
  response.flushHeaders()
  const startedAt = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond)
    let lines = ''
    for (; sent < due; sent++) lines += `{"type":"MODIFIED","object":${JSON.stringify(body((sent * 7_919) % objects, ++version))}}\n`
    if (lines !== '') response.write(lines)
  }, TICK_MS)
  response.on('close', () => clearInterval(timer))
}

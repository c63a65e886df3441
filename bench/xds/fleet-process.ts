// Any number of data planes, each on a connection of its own, in a process of their own. Takes orders over IPC.
//   node bench/xds/fleet-process.ts
import { CLUSTER, ENDPOINT, LISTENER, ROUTE } from '../../server/xds/resource-types.ts'
import { encodeNode, encodeRequest, decodeResponse, type Answered } from './ads-wire.ts'
import { answering } from './child.ts'
import { type GrpcConnection, openGrpc } from './grpc-connection.ts'
import { alsoAskedBy, calledBy, dataplaneOf, MESH } from './mesh-shape.ts'

export type FleetOrder =
  /**
   * Connects those of these numbers, all at once. `quiet`: they say who they are and ask for nothing; else for everything, as an Envoy does.
   * Answers when each has its first configuration (or, if quiet, has said who it is).
   */
  | { readonly kind: 'connect'; readonly port: number; readonly from: number; readonly count: number; readonly quiet: boolean }
  /** Those that are quiet ask for everything; answers when all have it. */
  | { readonly kind: 'configure' }
  /** Answers when each was sent its endpoints once more since this was last asked (or since all were configured), and has acknowledged. */
  | { readonly kind: 'pushed' }
  /** So many times a second one of them asks for other endpoints, is answered and acknowledges. */
  | { readonly kind: 'chatter'; readonly perSecond: number }
  | { readonly kind: 'cut' }

export interface FleetAnswers {
  /** From the moment the first of them began to connect, ms each. */
  readonly connect: { readonly firstMs: readonly number[] }
  readonly configure: { readonly tookMs: number }
  readonly pushed: { readonly answers: number }
  readonly chatter: { readonly changes: number }
  readonly cut: object
}

interface Plane {
  readonly number: number
  readonly connection: GrpcConnection
  firstAt: number | undefined
  /** What it was last sent, by type. */
  readonly answers: Map<string, Answered>
  endpointNames: readonly string[]
  rounds: number
}

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources'
const TICK_MS = 10
const planes: Plane[] = []
/** Data planes that have their first configuration, and all of it. */
let begun = 0
let complete = 0
let endpointAnswers = 0
let endpointAnswersBefore = 0
let perSecond = 0
let changes = 0
let isCutting = false
let look: (() => void) | undefined
void chat()

answering<FleetOrder>(async (order) => {
  switch (order.kind) {
    case 'connect': {
      const startedAt = performance.now()
      const wanted = begun + order.count
      const added = Array.from({ length: order.count }, (_, index) => open(order.from + index, order))
      planes.push(...added)
      if (order.quiet) return { firstMs: [] }
      await until(() => begun === wanted)
      return { firstMs: added.map(({ firstAt = NaN }) => firstAt - startedAt) }
    }
    case 'configure': {
      const startedAt = performance.now()
      for (const plane of planes) plane.connection.send(encodeRequest({ type: CLUSTER }))
      await until(() => complete === planes.length)
      endpointAnswersBefore = endpointAnswers
      return { tookMs: performance.now() - startedAt }
    }
    case 'pushed': {
      await until(() => endpointAnswers - endpointAnswersBefore >= planes.length)
      const answers = endpointAnswers - endpointAnswersBefore
      endpointAnswersBefore = endpointAnswers
      return { answers }
    }
    case 'chatter': {
      const before = changes
      perSecond = order.perSecond
      changes = 0
      return { changes: before }
    }
    case 'cut':
      isCutting = true
      for (const { connection } of planes.splice(0)) connection.destroy()
      isCutting = false
      begun = 0
      complete = 0
      return {}
  }
})

function open(number: number, { port, quiet }: { readonly port: number; readonly quiet: boolean }): Plane {
  const dataplane = dataplaneOf(number)
  const plane: Plane = {
    number,
    firstAt: undefined,
    answers: new Map(),
    endpointNames: calledBy(number),
    rounds: 0,
    connection: openGrpc({
      host: '127.0.0.1',
      port,
      path: PATH,
      onMessage: (message) => onAnswer(plane, decodeResponse(message)),
      onEnd(why) {
        if (!isCutting) throw new Error(`data plane ${number} was cut off: ${why}`)
      },
    }),
  }
  const node = encodeNode(`${MESH}.${dataplane.name}`, dataplane)
  // Endpoints of nothing: a request that there is no answer to.
  plane.connection.send(encodeRequest({ type: quiet ? ENDPOINT : CLUSTER, node }))
  return plane
}

/** As an Envoy: what an answer makes it ask for, and its ACK. */
function onAnswer(plane: Plane, answer: Answered) {
  const { type, version, nonce } = answer
  if (plane.firstAt === undefined) {
    plane.firstAt = performance.now()
    begun++
  }
  const isFirst = !plane.answers.has(type)
  if (isFirst && type === ROUTE) complete++
  plane.answers.set(type, answer)
  const routes = () => calledBy(plane.number).map((service) => `outbound:${service}`)
  if (type === CLUSTER && isFirst) {
    plane.connection.send(encodeRequest({ type: ENDPOINT, names: plane.endpointNames }))
    plane.connection.send(encodeRequest({ type: LISTENER }))
  }
  if (type === LISTENER && isFirst) plane.connection.send(encodeRequest({ type: ROUTE, names: routes() }))
  const names = type === ENDPOINT ? plane.endpointNames : type === ROUTE ? routes() : []
  plane.connection.send(encodeRequest({ type, version, nonce, names }))
  if (type === ENDPOINT) endpointAnswers++
  look?.()
}

async function chat(): Promise<void> {
  let last = performance.now()
  let owed = 0
  let next = 0
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    const now = performance.now()
    owed = Math.min(perSecond, owed + ((now - last) * perSecond) / 1000)
    last = now
    for (; owed >= 1; owed--) {
      // Neither in the order they came in nor in that of their names.
      const plane = planes[(next++ * 7_919) % planes.length]
      const known = plane?.answers.get(ENDPOINT)
      if (plane === undefined || known === undefined) continue
      plane.endpointNames = [...calledBy(plane.number), alsoAskedBy(plane.number, plane.rounds++)]
      changes++
      plane.connection.send(encodeRequest({ type: ENDPOINT, version: known.version, nonce: known.nonce, names: plane.endpointNames }))
    }
  }
}

function until(isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    look = () => {
      if (!isSo()) return
      look = undefined
      resolve()
    }
    look()
  })
}

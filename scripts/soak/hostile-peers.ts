import { setTimeout as wait } from 'node:timers/promises'
import { loadProtos } from '../../server/xds/protos.ts'
import { nodeOf, plainDataplane } from '../../server/xds/testing/raw-client.ts'
import { frame, type GrpcEnd, openCall, openSession, type RawCall } from './hostile/raw-grpc.ts'
import { watchProduct } from './hostile/watch-product.ts'
import { startProduct } from './product.ts'
import type { Report } from './report.ts'

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources'
const CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
const CONNECTS_PER_SECOND = 1_000
const TICK_MS = 10
const ANSWER_WITHIN_MS = 10_000
const INVALID_ARGUMENT = 3

/** Peers that are honest in what they say and unreasonable in how: each gets a right answer or a clear status, and leaves nothing. */
export async function soakPeers({ seconds }: { readonly seconds: number }, report: Report): Promise<void> {
  const product = await startProduct()
  const serialize = loadProtos().discoveryService['StreamAggregatedResources']!.requestSerialize as (message: object) => Buffer
  const hello = (name: string, padding = 0) =>
    frame(
      serialize({
        type_url: CLUSTER,
        node: nodeOf(`default.${name}`, { ...plainDataplane('web', 8080), ...(padding > 0 && { padding: 'x'.repeat(padding) }) }),
      }),
    )
  const dial = (headers: Readonly<Record<string, string>> = {}) => {
    const session = openSession(product.xds)
    const call = openCall(session, PATH, headers)
    void call.ended.then(() => session.destroy())
    return { ...call, leave: () => session.destroy() }
  }
  try {
    await product.apply({ 'xds.deregistrationDelayMs': 1_000 })
    const watch = await watchProduct(product)

    for (const kilobytes of [64, 1_024]) {
      const peer = dial()
      peer.write(hello(`padded-${kilobytes}`, kilobytes * 1_024))
      report.hold((await outcomeOf(peer)) === 'answered', `metadata of ${kilobytes} KB in the node is taken`, await outcomeOf(peer))
      peer.leave()
    }
    const tooMuch = dial()
    tooMuch.write(hello('book', 3 << 20))
    const refusal = await tooMuch.ended
    report.hold(refusal.code !== undefined && refusal.code > 0, 'metadata of 3 MB is refused with a status', describe(refusal))
    const headed = dial({ 'x-long': 'x'.repeat(64 * 1_024) })
    headed.write(hello('headed'))
    const headedOutcome = await outcomeOf(headed)
    report.hold(headedOutcome !== SILENT, 'metadata of 64 KB in the headers is answered or refused', headedOutcome)
    headed.leave()

    const [first, second] = [dial(), dial()]
    for (const peer of [first, second]) peer.write(hello('twice'))
    const both = await Promise.all([first, second].map(outcomeOf))
    report.hold(
      both.every((each) => each === 'answered'),
      'one node on two streams at once is answered on both',
      both.join(', '),
    )
    first.write(hello('somebody-else'))
    const changed = await first.ended
    report.hold(changed.code === INVALID_ARGUMENT, 'an id that changes in mid-stream is refused', describe(changed))
    second.leave()

    await comeAndGo()
    await watch.holdCalm(report)
  } finally {
    await product.stop()
  }

  /** A third leaves before it is answered, a third says nothing, a third waits for its configuration. */
  async function comeAndGo(): Promise<void> {
    const perTick = (CONNECTS_PER_SECOND * TICK_MS) / 1_000
    const leaving = new Set<Promise<unknown>>()
    const startedAt = performance.now()
    let connects = 0
    let unanswered = 0
    while (performance.now() - startedAt < seconds * 1_000) {
      for (let each = 0; each < perTick; each++) {
        const nth = connects++
        const peer = dial()
        if (nth % 3 !== 0) peer.write(hello(`guest-${nth % 200}`))
        const stay = nth % 3 === 2 ? outcomeOf(peer).then((outcome) => void (unanswered += outcome === 'answered' ? 0 : 1)) : wait(nth % 20)
        const gone = stay.finally(() => {
          peer.leave()
          leaving.delete(gone)
        })
        leaving.add(gone)
      }
      await wait(Math.max(0, startedAt + (connects / CONNECTS_PER_SECOND) * 1_000 - performance.now()))
    }
    const rate = connects / ((performance.now() - startedAt) / 1_000)
    await Promise.all(leaving)
    report.say(`  ${connects} connects, ${Math.round(rate)} a second, for ${seconds} s`)
    report.hold(unanswered === 0, 'who waits for its configuration among them gets it', `${unanswered} did not`)
  }
}

const SILENT = `no answer within ${ANSWER_WITHIN_MS / 1_000} s`

async function outcomeOf(call: Pick<RawCall, 'answered' | 'ended'>): Promise<string> {
  const waiting = new AbortController()
  const silence = wait(ANSWER_WITHIN_MS, SILENT, { signal: waiting.signal }).catch(() => SILENT)
  const outcome = await Promise.race([
    call.answered.then(async (isAnswered) => (isAnswered ? 'answered' : describe(await call.ended))),
    call.ended.then(describe),
    silence,
  ])
  waiting.abort()
  return outcome
}

function describe({ code, message, error }: GrpcEnd): string {
  return code === undefined ? (error ?? 'hung up on') : `status ${code}: ${message.slice(0, 100)}`
}

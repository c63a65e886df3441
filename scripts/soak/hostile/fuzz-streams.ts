import { setTimeout as wait } from 'node:timers/promises'
import type { Product } from '../product.ts'
import type { Report } from '../report.ts'
import { type GrpcEnd, openCall, openSession } from './raw-grpc.ts'
import { showsInside } from './watch-product.ts'

/** One stream's worth of bytes. */
interface StreamCase {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly messages: readonly Buffer[]
}

export interface FuzzOptions {
  readonly messages: number
  readonly seed: number
  /** This case alone, as a breach named it. */
  readonly only?: number | undefined
}

export interface FuzzedStreams extends FuzzOptions {
  /** As `--only` names it. */
  readonly part: string
  readonly product: Product
  /** host:port */
  readonly address: string
  readonly makeCase: (index: number) => StreamCase
}

/** Streams under way at once. */
const LANES = 16
const END_WITHIN_MS = 30_000
/** What a peer may be told; UNKNOWN, UNAVAILABLE and DATA_LOSS would blame us. */
const clearCodes = new Set([0, 1, 3, 4, 5, 7, 8, 9, 10, 12, 13])
const LONGEST_ANSWER = 3_000
const MOST_FAULTS = 20

/** Streams over real HTTP/2, as fast as they are answered: each must end with a clear status. */
export async function fuzzStreams(
  { part, product, address, makeCase, messages, seed, only }: FuzzedStreams,
  report: Report,
): Promise<void> {
  const faults: string[] = []
  const endings = new Map<string, number>()
  let sent = 0
  let next = only ?? 1
  await Promise.all(Array.from({ length: only === undefined ? LANES : 1 }, lane))
  report.say(
    `${sent} messages on ${next - 1} streams, seed ${seed}; ended with ${[...endings].map(([code, count]) => `${code} x${count}`).join(', ')}`,
  )
  report.hold(
    faults.length === 0,
    'each stream ends with a clear status that shows nothing of our inside',
    faults.slice(0, 12).join('; ') || 'yes',
  )

  async function lane(): Promise<void> {
    do {
      const index = next++
      const hostile = makeCase(index)
      const end = await play(address, hostile)
      sent += hostile.messages.length
      const ending = end.code === undefined ? (end.error ?? 'no status') : String(end.code)
      endings.set(ending, (endings.get(ending) ?? 0) + 1)
      const fault = faultOf(end)
      if (fault !== undefined) faults.push(`${fault} (npm run soak -- --only=${part} --seed=${seed} --case=${index})`)
    } while (only === undefined && sent < messages && faults.length < MOST_FAULTS && product.child.exitCode === null)
  }
}

/** Sends all, says goodbye, and hears how it ended. */
async function play(address: string, { path, headers, messages }: StreamCase): Promise<GrpcEnd> {
  const session = openSession(address)
  const call = openCall(session, path, headers)
  for (const message of messages) call.write(message)
  call.stream.end()
  const silent: GrpcEnd = { code: undefined, message: '', error: SILENT }
  const waiting = new AbortController()
  const end = await Promise.race([call.ended, wait(END_WITHIN_MS, silent, { signal: waiting.signal }).catch(() => silent)])
  waiting.abort()
  session.destroy()
  return end
}

const SILENT = `no end within ${END_WITHIN_MS / 1000} s`

function faultOf({ code, message, error }: GrpcEnd): string | undefined {
  if (error === SILENT) return SILENT
  if (showsInside(message)) return `shows our inside: ${message.slice(0, 300)}`
  if (message.length > LONGEST_ANSWER) return `an answer of ${message.length} characters`
  // Refused before it was gRPC at all: by an HTTP status, or a reset.
  if (code === undefined) return error?.startsWith('HTTP 4') === true || error === HTTP2_REFUSAL ? undefined : `no status: ${error}`
  return clearCodes.has(code) ? undefined : `status ${code}: ${message.slice(0, 300)}`
}

const HTTP2_REFUSAL = 'Stream closed with error code NGHTTP2_ENHANCE_YOUR_CALM'

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { FuzzOptions } from './hostile/fuzz-streams.ts'
import { type ApiCase, createApiCases, type SocketFrame } from './hostile/http-cases.ts'
import { showsInside, watchProduct } from './hostile/watch-product.ts'
import { startProduct } from './product.ts'
import type { Report } from './report.ts'

const LANES = 8
const ANSWER_WITHIN_MS = 10_000
const MOST_FAULTS = 20

/** Mutated requests and socket messages, as fast as they are answered. */
export async function soakFuzzApi({ messages, seed, only }: FuzzOptions, report: Report): Promise<void> {
  const product = await startProduct()
  try {
    const { host } = new URL(product.url)
    const watch = await watchProduct(product)
    const makeCase = createApiCases(seed, host)
    const faults: string[] = []
    const endings = new Map<string, number>()
    let sent = 0
    let next = only ?? 1
    await Promise.all(Array.from({ length: only === undefined ? LANES : 1 }, lane))
    report.say(`${sent} messages, seed ${seed}; answered with ${[...endings].map(([code, count]) => `${code} x${count}`).join(', ')}`)
    report.hold(
      faults.length === 0,
      'bad input is blamed on the caller, and no answer shows anything of our inside',
      faults.slice(0, 5).join('; ') || 'yes',
    )
    await watch.holdCalm(report)

    async function lane(): Promise<void> {
      do {
        const index = next++
        const hostile = makeCase(index)
        const answer = hostile.kind === 'http' ? await ask(host, hostile) : await follow(host, hostile)
        sent += hostile.kind === 'http' ? 1 : hostile.frames.length
        const ending = hostile.kind === 'http' ? (/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? answer.slice(0, 20)) : 'socket'
        endings.set(ending, (endings.get(ending) ?? 0) + 1)
        const fault = faultOf(answer)
        if (fault !== undefined) faults.push(`${fault} (npm run soak -- --only=fuzz-api --seed=${seed} --case=${index})`)
      } while (only === undefined && sent < messages && faults.length < MOST_FAULTS && product.child.exitCode === null)
    }
  } finally {
    await product.stop()
  }
}

function faultOf(answer: string): string | undefined {
  if (answer === SILENT) return SILENT
  const isOurFault = /^HTTP\/1\.1 5(?!0[15] )|"httpStatus":5(?!01)|INTERNAL_SERVER_ERROR|"code":"internal"/.test(answer)
  if (isOurFault) return `a fault of ours: ${answer.slice(0, 100)} ... ${answer.slice(-300)}`
  return showsInside(answer) ? `shows our inside: ${answer.slice(0, 600)}` : undefined
}

const SILENT = `no answer within ${ANSWER_WITHIN_MS / 1000} s`

/** All that came back, headers included; '' when the peer was hung up on without a word. */
async function ask(host: string, { bytes, isCut }: ApiCase & { kind: 'http' }): Promise<string> {
  const socket = await dial(host)
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  const closed = once(socket, 'close')
  socket.write(bytes)
  if (isCut) socket.end()
  const isClosed = await within(closed)
  socket.destroy()
  return isClosed ? Buffer.concat(parts).toString() : SILENT
}

/** What was said on the socket until it had the time to answer all, or hung up. */
async function follow(host: string, { query, protocol, frames }: ApiCase & { kind: 'socket' }): Promise<string> {
  const socket = new WebSocket(`ws://${host}/api/trpc${query}`, protocol === undefined ? [] : [protocol])
  const said: string[] = []
  socket.on('error', ({ message }) => said.push(message))
  socket.on('message', (message: Buffer) => said.push(message.toString()))
  const closed = once(socket, 'close').catch(() => undefined)
  const isOpen = await Promise.race([once(socket, 'open').then(() => true), closed.then(() => false)]).catch(() => false)
  if (!isOpen) return said.join('\n')
  for (const frame of frames) send(socket, frame)
  // A pong comes after the answers to all before it, or the socket is closed.
  socket.ping()
  const isAnswered = await within(Promise.race([once(socket, 'pong'), closed]).catch(() => undefined))
  socket.terminate()
  return isAnswered ? said.join('\n') : SILENT
}

function send(socket: WebSocket, frame: SocketFrame): void {
  if (socket.readyState !== WebSocket.OPEN) return
  switch (frame.kind) {
    case 'text':
      return socket.send(frame.text)
    case 'binary':
      return socket.send(frame.bytes, { binary: true })
    case 'fragments':
      for (const [at, text] of frame.texts.entries()) socket.send(text, { fin: at === frame.texts.length - 1 })
      return
    case 'raw':
      // Past the library, which would not send it.
      ;(socket as unknown as { readonly _socket: Socket })._socket.write(frame.bytes)
  }
}

async function dial(host: string): Promise<Socket> {
  const [name, port] = host.split(':')
  const socket = connect(Number(port), name)
  socket.on('error', () => undefined)
  return socket
}

async function within(event: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController()
  const isSo = await Promise.race([
    event.then(
      () => true,
      () => true,
    ),
    wait(ANSWER_WITHIN_MS, false, { signal: waiting.signal }).catch(() => false),
  ])
  waiting.abort()
  return isSo
}

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { loadKdsProtos } from '../../../server/kds/protos.ts'
import { DOWN_TYPES } from '../../../server/kds/zone-sessions.ts'
import type { KdsCase } from './kds-cases.ts'
import { frame } from './raw-grpc.ts'

/** A global for one zone, whose every byte is the caller's. Connections come only while something is played. */
export interface HostileGlobal {
  /** host:port */
  readonly address: string
  /** Says all of it on the next connection's stream, and goodbye. Resolves with what the zone said there, when the connection is over. */
  play(hostile: KdsCase): Promise<string>
  /** Answers each type that the zone asks for with nothing. Resolves with how many it acknowledged. */
  playHonest(): Promise<number>
  stop(): void
}

const OVER_WITHIN_MS = 30_000

export async function startHostileGlobal(): Promise<HostileGlobal> {
  const { requestDeserialize, responseSerialize } = loadKdsProtos().syncService['GlobalToZoneSync']!
  const sessions = new Set<ServerHttp2Session>()
  let onStream: ((stream: ServerHttp2Stream, method: string) => void) | undefined
  let onClose: (() => void) | undefined
  const server = createServer()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => {
      sessions.delete(session)
      onClose?.()
    })
    session.on('error', () => undefined)
    if (onStream === undefined) session.destroy()
  })
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const method = String(headers[':path']).split('/').at(-1)!
    stream.on('error', () => undefined)
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    if (method === 'HealthCheck') stream.end(frame(Buffer.alloc(0)))
    else onStream?.(stream, method)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async play({ direction, messages }) {
      const said: Buffer[] = []
      const over = Promise.withResolvers<void>()
      onStream = (stream, method) => {
        if (method !== direction) return void stream.resume()
        onClose = over.resolve
        followMessages(stream, (message) => said.push(message))
        for (const message of messages) stream.write(message)
        stream.end()
      }
      await within(over.promise)
      onStream = undefined
      return Buffer.concat(said).toString()
    },
    async playHonest() {
      const acknowledged = new Set<string>()
      const done = Promise.withResolvers<void>()
      onStream = (stream, method) => {
        if (method !== 'GlobalToZoneSync') return void stream.resume()
        followMessages(stream, (message) => {
          const { type_url, response_nonce, error_detail } = requestDeserialize(message) as {
            readonly type_url: string
            readonly response_nonce: string
            readonly error_detail: unknown
          }
          if (response_nonce === '') stream.write(frame(Buffer.from(responseSerialize({ type_url, nonce: 'honest', resources: [] }))))
          else if (error_detail === null) acknowledged.add(type_url)
          if (acknowledged.size === DOWN_TYPES.length) done.resolve()
        })
      }
      await within(done.promise)
      onStream = undefined
      for (const session of sessions) session.destroy()
      return acknowledged.size
    },
    stop() {
      server.close()
      for (const session of sessions) session.destroy()
    },
  }
}

/** Messages as they come, unzipped. */
function followMessages(stream: ServerHttp2Stream, onMessage: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  stream.on('data', (part: Buffer) => {
    rest = Buffer.concat([rest, part])
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const content = rest.subarray(5, 5 + rest.readUInt32BE(1))
      onMessage(rest[0] === 1 ? gunzipSync(content) : content)
      rest = rest.subarray(5 + content.length)
    }
  })
}

async function within(event: Promise<void>): Promise<void> {
  const waiting = new AbortController()
  const late = wait(OVER_WITHIN_MS, undefined, { signal: waiting.signal }).then(
    () => Promise.reject(new Error(`the zone went on for ${OVER_WITHIN_MS / 1000} s`)),
    () => undefined,
  )
  await Promise.race([event, late])
  waiting.abort()
}

import type { IncomingHttpHeaders } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'

/** How a call ended; `code` undefined when the stream was reset, or the connection cut, without a status. */
export interface GrpcEnd {
  readonly code: number | undefined
  readonly message: string
  /** What the transport said, if it did. */
  readonly error: string | undefined
}

/** A gRPC call whose every byte is the caller's, framing included. */
export interface RawCall {
  readonly stream: ClientHttp2Stream
  write(bytes: Buffer): void
  /** Resolves with true when the peer sent a message, and with false when the call ended without one. */
  readonly answered: Promise<boolean>
  readonly ended: Promise<GrpcEnd>
}

export function openSession(address: string): ClientHttp2Session {
  // What waits to be sent counts, too: Node's 10 MB would end the session from our side.
  const session = connect(`http://${address}`, { maxSessionMemory: 1_000 })
  // Told through its streams.
  session.on('error', () => undefined)
  return session
}

export function openCall(session: ClientHttp2Session, path: string, headers: Readonly<Record<string, string>> = {}): RawCall {
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers })
  const answered = Promise.withResolvers<boolean>()
  const ended = Promise.withResolvers<GrpcEnd>()
  let error: string | undefined
  // A status is the end, whatever the peer had not read yet: as real clients do, nothing is sent after it.
  const take = (from: IncomingHttpHeaders) => {
    if (from['grpc-status'] === undefined) return
    ended.resolve({ code: Number(from['grpc-status']), message: decodeURI([from['grpc-message'] ?? ''].flat().join()), error: undefined })
    stream.close()
  }
  stream.on('response', (answer) => {
    take(answer)
    if (answer[':status'] !== 200) error = `HTTP ${answer[':status']}`
  })
  stream.on('trailers', take)
  stream.on('data', () => answered.resolve(true))
  stream.on('error', ({ message }) => (error = message))
  stream.on('close', () => {
    answered.resolve(false)
    ended.resolve({ code: undefined, message: '', error: error ?? `reset ${stream.rstCode}` })
  })
  return {
    stream,
    write(bytes) {
      if (!stream.destroyed && !stream.writableEnded) stream.write(bytes)
    },
    answered: answered.promise,
    ended: ended.promise,
  }
}

/** A message in gRPC's frame; `length` and `flag` when the frame lies. */
export function frame(
  message: Buffer,
  { length = message.length, flag = 0 }: { readonly length?: number; readonly flag?: number } = {},
): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(flag, 0)
  head.writeUInt32BE(length >>> 0, 1)
  return Buffer.concat([head, message])
}

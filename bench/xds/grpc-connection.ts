import { connect, type Socket } from 'node:net'

/** One gRPC stream on an HTTP/2 connection of its own, as lean as it gets: ten thousand of them must not be what is measured. */
export interface GrpcConnection {
  send(message: Buffer): void
  /** Cuts it off, as a machine that goes away does. */
  destroy(): void
}

export interface GrpcConnectionOptions {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly onMessage: (message: Buffer) => void
  /** It ended, and not by `destroy`. */
  readonly onEnd: (why: string) => void
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const
const END_STREAM = 1
const ACK = 1
const END_HEADERS = 4
const HEADER_BYTES = 9
const LARGEST_WINDOW = 2 ** 31 - 1
const DEFAULT_WINDOW = 65_535
const SETTING_INITIAL_WINDOW = 4

export function openGrpc({ host, port, path, onMessage, onEnd }: GrpcConnectionOptions): GrpcConnection {
  const socket: Socket = connect({ host, port, noDelay: true })
  let isOver = false
  let unread: Buffer = Buffer.alloc(0)
  let message: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])
    readFrames()
  })
  socket.on('error', (error) => end(error.message))
  socket.on('close', () => end('closed'))
  socket.write(openingOf(`${host}:${port}`, path))
  return {
    send(content) {
      const prefix = Buffer.alloc(HEADER_BYTES + 5)
      frameHeader(FRAME.data, { length: content.length + 5 }).copy(prefix)
      prefix.writeUInt32BE(content.length, HEADER_BYTES + 1)
      socket.write(Buffer.concat([prefix, content]))
    },
    destroy() {
      isOver = true
      socket.resetAndDestroy()
    },
  }

  function readFrames() {
    let at = 0
    while (unread.length - at >= HEADER_BYTES) {
      const length = unread.readUIntBE(at, 3)
      if (unread.length - at < HEADER_BYTES + length) break
      const payload = unread.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length)
      onFrame(unread[at + 3] ?? 0, unread[at + 4] ?? 0, payload)
      at += HEADER_BYTES + length
    }
    unread = unread.subarray(at)
  }

  function onFrame(type: number, flags: number, payload: Buffer) {
    switch (type) {
      case FRAME.data:
        message = message.length === 0 ? payload : Buffer.concat([message, payload])
        readMessages()
        break
      case FRAME.settings:
        if ((flags & ACK) === 0) socket.write(frameHeader(FRAME.settings, { flags: ACK, stream: 0 }))
        break
      case FRAME.ping:
        if ((flags & ACK) === 0)
          socket.write(Buffer.concat([frameHeader(FRAME.ping, { length: payload.length, flags: ACK, stream: 0 }), payload]))
        break
      case FRAME.headers:
        if ((flags & END_STREAM) !== 0) end(`trailers: ${payload.toString('latin1')}`)
        break
      case FRAME.reset:
      case FRAME.goAway:
        end(`frame ${type}: ${payload.toString('hex')}`)
    }
  }

  function readMessages() {
    while (message.length >= 5) {
      const length = message.readUInt32BE(1)
      if (message.length < 5 + length) return
      const content = message.subarray(5, 5 + length)
      message = message.subarray(5 + length)
      onMessage(content)
    }
  }

  function end(why: string) {
    if (isOver) return
    isOver = true
    socket.destroy()
    onEnd(why)
  }
}

function openingOf(authority: string, path: string): Buffer {
  const setting = Buffer.alloc(6)
  setting.writeUInt16BE(SETTING_INITIAL_WINDOW)
  setting.writeUInt32BE(LARGEST_WINDOW, 2)
  const window = Buffer.alloc(4)
  window.writeUInt32BE(LARGEST_WINDOW - DEFAULT_WINDOW)
  // HPACK: names from its static table, values as they are.
  const headers = Buffer.concat([
    Buffer.from([0x83, 0x86]),
    literal([0x04], path),
    literal([0x01], authority),
    literal([0x0f, 0x10], 'application/grpc'),
    literal([0x00, 2, ...Buffer.from('te')], 'trailers'),
  ])
  return Buffer.concat([
    PREFACE,
    frameHeader(FRAME.settings, { length: setting.length, stream: 0 }),
    setting,
    frameHeader(FRAME.windowUpdate, { length: window.length, stream: 0 }),
    window,
    frameHeader(FRAME.headers, { length: headers.length, flags: END_HEADERS }),
    headers,
  ])
}

function literal(name: readonly number[], value: string): Buffer {
  return Buffer.from([...name, value.length, ...Buffer.from(value)])
}

function frameHeader(
  type: number,
  { length = 0, flags = 0, stream = 1 }: { readonly length?: number; readonly flags?: number; readonly stream?: 0 | 1 },
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUIntBE(length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(stream, 5)
  return header
}

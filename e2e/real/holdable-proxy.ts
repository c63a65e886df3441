import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire to a server that can be held: connections are taken, and nothing passes, as when the server hangs. */
export interface HoldableProxy {
  readonly port: number
  hold(isHeld: boolean): void
  close(): void
}

export async function createHoldableProxy(target: { readonly host: string; readonly port: number }): Promise<HoldableProxy> {
  const sockets = new Set<Socket>()
  let isHeld = false
  const server = createServer((near) => {
    const far = connect(target)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      if (isHeld) from.pause()
      from.on('data', (chunk) => to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    hold(next) {
      isHeld = next
      for (const socket of sockets)
        if (isHeld) socket.pause()
        else socket.resume()
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire between two processes that can be cut: nothing passes, and nobody new gets through. */
export interface CuttableProxy {
  /** host:port to connect to instead of the target. */
  readonly address: string
  cut(isCut: boolean): void
  close(): void
}

export async function createCuttableProxy(target: string): Promise<CuttableProxy> {
  const [host = '', port = ''] = target.split(':')
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer({ noDelay: true }, (near) => {
    if (isCut) return void near.destroy()
    const far = connect({ host, port: Number(port), noDelay: true })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut(next) {
      isCut = next
      if (isCut) for (const socket of sockets) socket.destroy()
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

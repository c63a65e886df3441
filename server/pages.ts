import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { CoreError } from './lib/errors.ts'

/** The web interface: Next, behind our own HTTP server. */
export interface Pages {
  request(req: IncomingMessage, res: ServerResponse): Promise<void>
  /** Next's own sockets (reloading while developing). False: nobody takes them yet, nothing was done. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): boolean
}

const ROOT = join(import.meta.dirname, '..')

/**
 * Loads Next and the built pages. Throws `unavailable` when they are not built.
 *
 * Next catches what nobody caught: the caller puts its own handlers back after this. It also hangs an upgrade listener on the
 * server it is given, with its first request, and would end sockets that are not its own: so it gets a server that never
 * listens, and is handed what is its.
 */
export async function createPages({ dev, host }: { readonly dev: boolean; readonly host: string }): Promise<Pages> {
  if (!dev && !existsSync(join(ROOT, '.next/BUILD_ID'))) {
    throw new CoreError(
      'unavailable',
      'the web interface is not built: run `npm start`, which builds it, or pass --no-ui for the API alone',
    )
  }
  const { default: next } = await import('next')
  const httpServer = createServer()
  const app = next({ dev, dir: ROOT, hostname: host, quiet: true, httpServer })
  await app.prepare()
  return { request: app.getRequestHandler(), upgrade: (req, socket, head) => httpServer.emit('upgrade', req, socket, head) }
}

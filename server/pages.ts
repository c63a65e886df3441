import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { CoreError } from './lib/errors.ts'

/** The web interface: Next, behind our own HTTP server. */
export interface Pages {
  request(req: IncomingMessage, res: ServerResponse): Promise<void>
  /** Next's own sockets (reloading while developing). */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

const ROOT = join(import.meta.dirname, '..')

/**
 * Loads Next and the built pages. Throws `unavailable` when they are not built.
 *
 * Next catches what nobody caught and hangs an upgrade listener on the server it is given: so it gets one that never
 * listens, and the caller puts its own handlers back after this.
 */
export async function createPages({ dev }: { readonly dev: boolean }): Promise<Pages> {
  if (!dev && !existsSync(join(ROOT, '.next/BUILD_ID'))) {
    throw new CoreError(
      'unavailable',
      'the web interface is not built: run `npm start`, which builds it, or pass --no-ui for the API alone',
    )
  }
  const { default: next } = await import('next')
  const app = next({ dev, dir: ROOT, quiet: true, httpServer: createServer() })
  await app.prepare()
  return { request: app.getRequestHandler(), upgrade: app.getUpgradeHandler() }
}

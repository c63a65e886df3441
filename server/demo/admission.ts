import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../lib/clock.ts'

/** What a zone asks of its webhook. */
export interface AdmissionRequest {
  readonly uid: string
  readonly kind: { readonly kind: string }
  readonly name: string
}

/** An admission webhook as a cluster may have one: real HTTP, AdmissionReview in and out. */
export interface Admission {
  readonly url: string
  close(): void
}

export interface AdmissionOptions {
  /** Why it is refused; undefined lets it in. */
  readonly judge: (request: AdmissionRequest) => string | undefined
  readonly delayMs: () => number
}

const MOST_BYTES = 1 << 20

export async function createAdmission(clock: Pick<Clock, 'sleep'>, { judge, delayMs }: AdmissionOptions): Promise<Admission> {
  const server = createServer((request, response) => {
    answer(request)
      .then((body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)))
      .catch((error: unknown) => response.writeHead(400).end((error as Error).message))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/admit`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }

  async function answer(message: IncomingMessage) {
    const { request } = JSON.parse(await bodyOf(message)) as { readonly request: AdmissionRequest }
    await clock.sleep(delayMs())
    const reason = judge(request)
    const verdict = reason === undefined ? { allowed: true } : { allowed: false, status: { code: 403, message: reason } }
    return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid: request.uid, ...verdict } }
  }
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of message) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size > MOST_BYTES) throw new RangeError('too large')
  }
  return Buffer.concat(chunks).toString()
}

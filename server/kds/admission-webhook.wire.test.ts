import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createSystemClock } from '../lib/clock.ts'
import { createAdmissionWebhook, type WebhookConfig } from './admission-webhook.ts'

const draft = { key: { type: 'MeshTimeout', mesh: 'demo', name: 'slow' }, labels: { team: 'a' }, spec: { to: [] } }
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A webhook that answers this; resolves with its URL. */
async function answering(status: number, body: unknown, asked: unknown[] = []): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      asked.push(JSON.parse(Buffer.concat(chunks).toString()))
      if (status === 0) return
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/admit`
}
const ask = (url: string, over: Partial<WebhookConfig> = {}) =>
  createAdmissionWebhook({ url, timeoutMs: 500, failurePolicy: 'Fail', ...over }, { clock: createSystemClock(), newId: () => 'uid-1' })(
    draft,
    true,
    new AbortController().signal,
  )

describe('the admission webhook of a zone', () => {
  it('is asked by AdmissionReview, with the resource in its REST form', async () => {
    const asked: unknown[] = []
    expect(await ask(await answering(200, { response: { allowed: true } }, asked))).toBeUndefined()
    expect(asked).toEqual([
      {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        request: {
          uid: 'uid-1',
          kind: { group: 'kuma.io', version: 'v1alpha1', kind: 'MeshTimeout' },
          name: 'slow',
          operation: 'CREATE',
          object: { type: 'MeshTimeout', mesh: 'demo', name: 'slow', labels: { team: 'a' }, spec: { to: [] } },
        },
      },
    ])
  })

  it('refuses with its reason, by allowed: false or by a 4xx', async () => {
    expect(await ask(await answering(200, { response: { allowed: false, status: { message: 'frozen' } } }))).toBe('frozen')
    expect(await ask(await answering(422, 'too many'))).toBe('the webhook answered 422: too many')
  })

  it('that does not answer is no refusal: the stream ends, or it is let in, as configured', async () => {
    const silent = [await answering(503, ''), await answering(0, ''), await answering(200, 'not json'), 'http://127.0.0.1:1/admit']
    const says = [/answered 503/, /did not answer within 500 ms/, /no AdmissionReview/, /can't be reached/]
    for (const [index, url] of silent.entries()) {
      await expect(ask(url)).rejects.toMatchObject({ code: 'unavailable', message: expect.stringMatching(says[index]!) as string })
      expect(await ask(url, { failurePolicy: 'Ignore' })).toBeUndefined()
    }
  })
})

import * as grpc from '@grpc/grpc-js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import { startXds } from './testing/xds-bench.ts'

const echo = {
  Echo: {
    path: '/test.Echo/Echo',
    requestStream: false,
    responseStream: false,
    requestSerialize: (text: string) => Buffer.from(text),
    requestDeserialize: String,
    responseSerialize: (text: string) => Buffer.from(text),
    responseDeserialize: String,
  },
}
const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  delete process.env['GRPC_XDS_BOOTSTRAP_CONFIG']
})

/** A real gRPC backend that answers with its own name. */
async function startBackend(name: string): Promise<number> {
  const server = new grpc.Server()
  server.addService(echo, { Echo: (_call: unknown, callback: grpc.sendUnaryData<string>) => callback(null, name) })
  closing.push(() => server.forceShutdown())
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  )
}
const backendSpec = (port: number): Dataplane => ({
  networking: {
    address: '127.0.0.1',
    inbound: [{ port, tags: { 'kuma.io/service': 'backend', 'kuma.io/protocol': 'grpc' } }],
    outbound: [],
  },
})

describe('a gRPC client that nobody here wrote', () => {
  it('resolves xds:///backend, calls both backends, and follows when one goes and a new one comes', async () => {
    const xds = await startXds()
    closing.push(() => xds.stop())
    const key = (name: string) => ({ type: 'Dataplane', mesh: 'default', name })
    for (const name of ['one', 'two'])
      await xds.store.create({ key: key(name), spec: backendSpec(await startBackend(name)) }, { writer: 'test' })
    await xds.store.create(
      { key: key('caller'), spec: { networking: { address: '127.0.0.1', inbound: [], outbound: [] } } },
      { writer: 'test' },
    )

    process.env['GRPC_XDS_BOOTSTRAP_CONFIG'] = JSON.stringify({
      xds_servers: [{ server_uri: xds.server.address(), channel_creds: [{ type: 'insecure' }], server_features: ['xds_v3'] }],
      node: { id: 'default.caller', locality: {} },
    })
    const { register } = await import('@grpc/grpc-js-xds')
    register()
    const Client = grpc.makeGenericClientConstructor(echo, 'Echo')
    const client = new Client('xds:///backend', grpc.credentials.createInsecure())
    closing.push(() => client.close())
    const call = () =>
      new Promise<string>((resolve, reject) => {
        const send = client['Echo'] as unknown as (text: string, options: grpc.CallOptions, callback: grpc.requestCallback<string>) => void
        send.call(client, 'x', { deadline: Date.now() + 5_000 }, (error, answer) => (error === null ? resolve(answer!) : reject(error)))
      })
    const reached = async () => {
      const names = new Set<string>()
      for (let calls = 0; calls < 20; calls++) names.add(await call())
      return [...names].sort()
    }

    expect(await reached()).toEqual(['one', 'two'])
    await xds.store.delete(key('one'), { writer: 'test' })
    await vi.waitFor(async () => expect(await reached()).toEqual(['two']), { timeout: 5_000 })
    await xds.store.create({ key: key('three'), spec: backendSpec(await startBackend('three')) }, { writer: 'test' })
    await vi.waitFor(async () => expect(await reached()).toEqual(['three', 'two']), { timeout: 5_000 })

    expect(Object.keys(xds.counts).filter((count) => count.endsWith('nack'))).toEqual([])
    const [session] = xds.sessions.list()
    expect(session).toMatchObject({ nodeId: 'default.caller', variant: 'sotw' })
    expect(session?.types.map(({ type, status }) => `${type} ${status}`)).toEqual(['CDS synced', 'EDS synced', 'LDS synced', 'RDS synced'])
  })
})

import { type ChannelOptions, type ClientDuplexStream, credentials, makeGenericClientConstructor, type StatusObject } from '@grpc/grpc-js'
import type { DeltaDiscoveryResponse__Output } from '../../gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import type { DiscoveryResponse__Output } from '../../gen/envoy/service/discovery/v3/DiscoveryResponse.ts'
import type { Protos } from '../protos.ts'

export type Answered = DiscoveryResponse__Output & DeltaDiscoveryResponse__Output

/** A client that says exactly what a test wants said. */
export interface RawStream {
  readonly answers: Answered[]
  write(message: object): void
  /** The nth answer, or an error when the stream ends before it. */
  answer(nth: number): Promise<Answered>
  readonly ended: Promise<StatusObject>
  readonly call: ClientDuplexStream<object, Answered>
  cancel(): void
}

export function openRaw(
  protos: Protos,
  address: string,
  { variant = 'sotw', channel = {} }: { readonly variant?: 'sotw' | 'delta'; readonly channel?: ChannelOptions } = {},
): RawStream {
  const Client = makeGenericClientConstructor(protos.discoveryService, 'AggregatedDiscoveryService')
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1, ...channel })
  const method = protos.discoveryService[variant === 'sotw' ? 'StreamAggregatedResources' : 'DeltaAggregatedResources']!
  const call = client.makeBidiStreamRequest(
    method.path,
    method.requestSerialize as (value: object) => Buffer,
    method.responseDeserialize as (bytes: Buffer) => Answered,
  )
  const answers: Answered[] = []
  const ended = Promise.withResolvers<StatusObject>()
  const waiting = new Set<() => void>()
  call.on('data', (answer: Answered) => {
    answers.push(answer)
    for (const look of waiting) look()
  })
  call.on('error', () => undefined)
  call.on('status', (status: StatusObject) => {
    client.close()
    ended.resolve(status)
  })
  return {
    answers,
    call,
    write: (message) => void call.write(message),
    ended: ended.promise,
    cancel: () => call.cancel(),
    answer(nth) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = answers[nth]
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
        void ended.promise.then(({ code, details }) => reject(new Error(`the stream ended with ${code}: ${details}`)))
      })
    },
  }
}

export function nodeOf(id: string, dataplane?: object) {
  return {
    id,
    metadata:
      dataplane === undefined
        ? undefined
        : {
            fields: {
              'dataplane.resource': {
                stringValue: JSON.stringify({
                  type: 'Dataplane',
                  mesh: id.split('.')[0],
                  name: id.split('.').slice(1).join('.'),
                  ...dataplane,
                }),
              },
            },
          },
  }
}

export const plainDataplane = (service: string, port: number) => ({
  networking: {
    address: '127.0.0.1',
    inbound: [{ port, tags: { 'kuma.io/service': service } }],
    outbound: [{ port: 19_001, tags: { 'kuma.io/service': 'backend' } }],
  },
})

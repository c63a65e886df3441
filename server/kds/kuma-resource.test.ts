import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { DeltaDiscoveryResponse__Output } from '../gen/envoy/service/discovery/v3/DeltaDiscoveryResponse.ts'
import { createKumaResourceCodec } from './kuma-resource.ts'
import { loadKdsProtos } from './protos.ts'
import { createSpecCodec, type WireAny } from './spec-codec.ts'

const protos = loadKdsProtos()
const specs = createSpecCodec(protos)
const codec = createKumaResourceCodec(protos, specs)

interface Recorded {
  readonly b?: string
  readonly message?: string
}
const recorded = (version: string) =>
  readFileSync(join(import.meta.dirname, 'recorded', `session-${version}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Recorded)
    .filter(({ message, b }) => message === 'DeltaDiscoveryResponse' && b !== undefined)
    .map(({ b = '' }) =>
      protos.message('envoy.service.discovery.v3.DeltaDiscoveryResponse').deserialize(Buffer.from(b, 'base64')),
    ) as DeltaDiscoveryResponse__Output[]

describe('resources between control planes', () => {
  for (const version of ['3.0', '2.14']) {
    it(`are read as a real ${version} sent them, and written as the same bytes`, () => {
      const types = new Set<string>()
      for (const { type_url, resources } of recorded(version)) {
        for (const { resource } of resources) {
          const decoded = codec.decode(type_url, resource as WireAny)
          expect(codec.encode(decoded).any.value.toString('base64')).toBe((resource as WireAny).value.toString('base64'))
          types.add(type_url)
        }
      }
      expect([...types]).toEqual(expect.arrayContaining(['Mesh', 'MeshTimeout', 'MeshRetry', 'MeshCircuitBreaker', 'Dataplane']))
    })
  }

  it('of an older kind are read where we know the message: a Dataplane is one', () => {
    const [dataplane] = recorded('3.0')
      .filter(({ type_url }) => type_url === 'Dataplane')
      .flatMap(({ resources }) => resources)
    const { key, labels, spec } = codec.decode('Dataplane', dataplane?.resource as WireAny)
    expect(key).toMatchObject({ type: 'Dataplane', mesh: 'default' })
    expect(labels).toMatchObject({ 'kuma.io/origin': 'zone', 'kuma.io/zone': 'zone-2' })
    expect(spec).toMatchObject({ networking: { inbound: [{ port: 18_009, servicePort: 18_009 }] } })
  })

  it('of a data plane’s status are read as the zone observed it, whoever made the zone', () => {
    const insights = recorded('2.14')
      .filter(({ type_url }) => type_url === 'DataplaneInsight')
      .flatMap(({ type_url, resources }) => resources.map(({ resource }) => codec.decode(type_url, resource as WireAny).spec))
    for (const insight of insights) expect(insight).toMatchObject({ subscriptions: expect.any(Array) as unknown[] })
    const ours = {
      subscriptions: [
        {
          id: 's',
          instance: 'i',
          variant: 'sotw',
          connectedAt: 1_500,
          disconnectedAt: 2_000,
          generation: 7,
          types: { LDS: { sent: 2, acked: 1, nacked: 1, lastAt: 1_700, rejection: { reason: 'bad', since: 1_600 } } },
        },
      ],
      mtls: { certificateExpiresAt: 9_000, certificateRegeneratedAt: 1_000, certificateRegenerations: 2, issuedBackend: 'builtin' },
    }
    const crossed = specs.encode('DataplaneInsight', ours)
    expect(crossed.type_url).toBe('type.googleapis.com/kuma.mesh.v1alpha1.DataplaneInsight')
    expect(specs.decode(crossed)).toEqual({ ...ours, subscriptions: [{ ...ours.subscriptions[0], generation: 0 }] })
    const others = protos.message('kuma.mesh.v1alpha1.DataplaneInsight').serialize({
      subscriptions: [
        {
          id: 's',
          control_plane_instance_id: 'cp',
          connect_time: { seconds: 10, nanos: 5e8 },
          status: {
            last_update_time: { seconds: 11 },
            lds: { responses_sent: 1, responses_rejected: 1 },
            cds: { responses_sent: 2, responses_acknowledged: 2 },
          },
          version: { envoy: { version: '1.40.0' } },
        },
      ],
    })
    expect(specs.decode({ type_url: crossed.type_url, value: others })).toMatchObject({
      subscriptions: [
        {
          id: 's',
          instance: 'cp',
          connectedAt: 10_500,
          agent: 'envoy 1.40.0',
          types: { CDS: { sent: 2, acked: 2 }, LDS: { nacked: 1, rejection: { since: 11_000 } } },
        },
      ],
    })
  })

  it('carry along what we would write otherwise: unknown fields, another notation, a message that is not ours', () => {
    const roundTrip = (type: string, any: WireAny) => specs.encode(type, specs.decode(any))
    const spaced = { type_url: '', value: Buffer.from('{ "to": [1.50] }') }
    expect(specs.decode(spaced)).toMatchObject({ to: [1.5], '@wire': { type: '' } })
    expect(roundTrip('MeshTimeout', spaced)).toEqual(spaced)
    const foreign = { type_url: 'type.googleapis.com/kuma.mesh.v1alpha1.TrafficLog', value: Buffer.from([8, 1]) }
    expect(roundTrip('TrafficLog', foreign)).toEqual(foreign)
    const unknownField = { type_url: 'type.googleapis.com/kuma.mesh.v1alpha1.Mesh', value: Buffer.from([0x7a, 1, 65]) }
    expect(roundTrip('Mesh', unknownField)).toEqual(unknownField)
  })

  it('write JSON as real ones do', () => {
    expect(specs.encode('MeshTimeout', { a: '<b> & c' }).value.toString()).toBe('{"a":"\\u003cb\\u003e \\u0026 c"}')
  })

  it('that cannot be read are named, with what is wrong', () => {
    const bad = (spec: string, name = 'slow') =>
      protos.message('kuma.mesh.v1alpha1.KumaResource').serialize({ meta: { name, mesh: 'demo' }, spec: { value: Buffer.from(spec) } })
    const any = (value: Buffer) => ({ type_url: 'type.googleapis.com/kuma.mesh.v1alpha1.KumaResource', value })
    expect(() => codec.decode('MeshTimeout', any(bad('{"to":')))).toThrow(/^MeshTimeout slow\.demo can't be read: /)
    expect(() => codec.decode('MeshTimeout', any(bad('[]')))).toThrow(
      "MeshTimeout slow.demo can't be read: its spec is JSON, but not an object",
    )
    expect(() => codec.decode('MeshTimeout', any(bad(`{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}`)))).toThrow(
      "MeshTimeout slow.demo can't be read: its spec has more than 64 objects and lists in one another",
    )
    expect(() => codec.decode('MeshTimeout', any(bad('{}', '')))).toThrow('a resource of type MeshTimeout came without a name')
    expect(() => codec.decode('MeshTimeout', any(Buffer.from([0x0a, 0x7f])))).toThrow(/^a resource of type MeshTimeout can't be read: /)
    expect(() => codec.decode('MeshTimeout', { type_url: 'x', value: Buffer.alloc(0) })).toThrow('not as "x"')
  })

  it('have equal versions exactly when they are equal', () => {
    const of = (spec: object) => codec.encode({ key: { type: 'MeshTimeout', mesh: 'demo', name: 'a' }, labels: {}, spec }).version
    expect(of({ to: [] })).toBe(of({ to: [] }))
    expect(of({ to: [] })).not.toBe(of({ to: [1] }))
  })
})

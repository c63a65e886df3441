import { describe, expect, it } from 'vitest'
import type { Cluster__Output } from '../gen/envoy/config/cluster/v3/Cluster.ts'
import type { ClusterLoadAssignment__Output } from '../gen/envoy/config/endpoint/v3/ClusterLoadAssignment.ts'
import type { Listener__Output } from '../gen/envoy/config/listener/v3/Listener.ts'
import type { Dataplane } from '../model/kinds/dataplane.ts'
import { createResourceBuilder } from './build-resources.ts'
import { loadProtos, TYPE_URL_PREFIX } from './protos.ts'
import type { XdsResource } from './resource-types.ts'

const protos = loadProtos()
const builder = createResourceBuilder(protos)
const read = <T>({ any }: XdsResource) => protos.unpack<T>(any.type_url.slice(TYPE_URL_PREFIX.length), any.value)
const inbound = { port: 18_001, servicePort: 8_001, tags: { 'kuma.io/service': 'backend' } }
const dataplane: Dataplane = { networking: { address: '10.0.0.1', inbound: [inbound], outbound: [] } }

describe('what is built', () => {
  it('has a version by its content: equal input, in whatever process, has an equal one', () => {
    const endpoints = [{ address: '10.0.0.1', port: 80 }]
    const another = createResourceBuilder(loadProtos())
    expect(another.endpoints('backend', endpoints).version).toBe(builder.endpoints('backend', endpoints).version)
    expect(builder.endpoints('backend', [{ address: '10.0.0.1', port: 81 }]).version).not.toBe(
      builder.endpoints('backend', endpoints).version,
    )
  })

  it('gives each locality a name and a weight, or a gRPC client accepts it and routes nowhere', () => {
    const { endpoints } = read<ClusterLoadAssignment__Output>(builder.endpoints('backend', [{ address: '10.0.0.1', port: 80 }]))
    expect(endpoints).toHaveLength(1)
    expect(endpoints[0]).toMatchObject({ locality: { region: 'local', zone: 'local' }, load_balancing_weight: { value: 1 } })
    expect(read<ClusterLoadAssignment__Output>(builder.endpoints('backend', [])).endpoints).toEqual([])
  })

  it('takes endpoints of a service over the same stream, and names them as what a changed cluster needs', () => {
    const cluster = builder.serviceCluster('backend', { protocol: 'http', mesh: undefined })
    expect(read<Cluster__Output>(cluster)).toMatchObject({ name: 'backend', type: 'EDS', eds_cluster_config: { eds_config: { ads: {} } } })
    expect(cluster.needs).toEqual(['backend'])
  })

  it('leads inbound traffic to the process behind the proxy, processes of several addresses apart', () => {
    expect(builder.localCluster(inbound).name).toBe('localhost:8001')
    const elsewhere = builder.localCluster({ ...inbound, serviceAddress: '10.0.0.9' })
    expect(elsewhere.name).toBe('10.0.0.9:8001')
    expect(
      read<Cluster__Output>(elsewhere).load_assignment?.endpoints[0]?.lb_endpoints[0]?.endpoint?.address?.socket_address,
    ).toMatchObject({
      address: '10.0.0.9',
      port_value: 8_001,
    })
    expect(builder.localCluster({ port: 80, tags: inbound.tags }).name).toBe('localhost:80')
  })

  it('listens where the inbound says, else where the data plane is', () => {
    const { address } = read<Listener__Output>(builder.inboundListener(dataplane, inbound, undefined))
    expect(address?.socket_address).toMatchObject({ address: '10.0.0.1', port_value: 18_001 })
    const own = builder.inboundListener(dataplane, { ...inbound, address: '10.0.0.7' }, undefined)
    expect(own.name).toBe('inbound:10.0.0.7:18001')
  })

  it('routes outbound HTTP by a route of its own that a changed listener needs, and TCP straight to the cluster', () => {
    const outbound = { port: 19_001, tags: { 'kuma.io/service': 'backend' } }
    expect(builder.outboundListener(outbound, 'http').needs).toEqual([builder.outboundRoute('backend').name])
    expect(builder.outboundListener(outbound, 'tcp').needs).toEqual([])
    expect(read<Listener__Output>(builder.outboundListener(outbound, 'http')).address?.socket_address).toMatchObject({
      address: '127.0.0.1',
    })
  })

  it('gives a gRPC client a listener that is no address but a name', () => {
    const listener = read<Listener__Output>(builder.apiListener('backend'))
    expect(listener).toMatchObject({ name: 'backend', address: null })
    expect(listener.api_listener?.api_listener?.type_url).toMatch(/HttpConnectionManager$/)
  })
})

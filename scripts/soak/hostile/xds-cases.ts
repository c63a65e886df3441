import { seededRandom } from '../../../server/demo/population.ts'
import { nodeOf, plainDataplane } from '../../../server/xds/testing/raw-client.ts'
import { loadProtos, TYPE_URL_PREFIX } from '../../../server/xds/protos.ts'
import { createDice, DELTA_REQUEST, type Fields, mutate, wrap } from './mutations.ts'
import { frame } from './raw-grpc.ts'

/** One stream's worth of bytes that no honest peer sends. */
export interface XdsCase {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly messages: readonly Buffer[]
}

type Variant = 'sotw' | 'delta'

const SERVICE = '/envoy.service.discovery.v3.AggregatedDiscoveryService/'
const fieldsOf: Readonly<Record<Variant, Fields>> = {
  sotw: { typeUrl: 4, names: 3, node: 2, holder: 6, anyInHolder: 3 },
  delta: DELTA_REQUEST,
}
const MOST_MESSAGES = 20

const types = [
  'envoy.config.cluster.v3.Cluster',
  'envoy.config.listener.v3.Listener',
  'envoy.config.route.v3.RouteConfiguration',
  'envoy.config.endpoint.v3.ClusterLoadAssignment',
  'envoy.extensions.transport_sockets.tls.v3.Secret',
].map((type) => TYPE_URL_PREFIX + type)
const oddTypes = [
  '',
  'x',
  'type.googleapis.com/',
  '__proto__',
  'constructor',
  `${types[0]}\0`,
  types[0]!.toUpperCase(),
  '\u{1f30a}'.repeat(300),
]

const oddNames = [
  '',
  '*',
  '\0',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '../../etc/passwd',
  '\u{1f30a}',
  'a'.repeat(1_000),
  '%s%n',
  '\ufeff',
]

const oddIds = [
  '',
  '.',
  '..',
  'default',
  'default.',
  '.web',
  'default..',
  'default. ',
  'default.a b',
  'default.a/b?c#d',
  'default.../../etc/passwd',
  'default.nul\0nul',
  'default.line\r\nbreak: x',
  'default.<script>alert(1)</script>',
  'default.\u{1f30a}\u202eevil',
  'default.__proto__',
  '__proto__.web',
  'constructor.prototype',
  'DEFAULT.web',
  'nowhere.web',
  `default.${'x'.repeat(245)}`,
  `default.${'x'.repeat(600)}`,
  `${'m'.repeat(100_000)}.web`,
]

const oddDataplanes = [
  '',
  'null',
  '[]',
  '7',
  '{',
  '{}',
  '"x"',
  '{"__proto__":{"polluted":true}}',
  '{"type":"Dataplane","mesh":"default","name":"web","networking":{"address":"127.0.0.1","inbound":[{"port":1,"tags":{"\\ud800":5}}]}}',
  '{"type":"\\ud800","mesh":"default","name":"web"}',
  `{"type":"Dataplane","mesh":${JSON.stringify('m'.repeat(300_000))},"name":"web"}`,
  `{"type":${'['.repeat(2_000)}${']'.repeat(2_000)},"mesh":"default","name":"web"}`,
  `{"type":"Dataplane","mesh":"default","name":"web","networking":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
  `{"type":"Dataplane","mesh":"default","name":"web","networking":{"address":"127.0.0.1"},"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  '\ud800',
]

const oddSpecs: readonly object[] = [
  { networking: null },
  { networking: { address: '', inbound: {}, outbound: 'x' } },
  { networking: { address: '1.2.3.4', inbound: [{ port: -1, tags: {} }] } },
  { networking: { address: '1.2.3.4', inbound: [{ port: 1e300, tags: { 'kuma.io/service': 'x' } }] } },
  { networking: { address: 'not an address \0', inbound: [{ port: 80, tags: { 'kuma.io/service': '../..' } }], outbound: [] } },
  {
    networking: { address: '127.0.0.1', inbound: [{ port: 80, tags: { 'kuma.io/service': '__proto__', constructor: 'x' } }], outbound: [] },
  },
  { networking: { address: '127.0.0.1', outbound: [{ port: 1, tags: { 'kuma.io/service': 'x'.repeat(10_000) } }] } },
  {
    networking: {
      address: '127.0.0.1',
      outbound: Array.from({ length: 500 }, (_, at) => ({ port: at + 1, tags: { 'kuma.io/service': `s${at % 7}` } })),
    },
  },
  { networking: { address: '127.0.0.1' }, session: { id: 'theirs', instance: 'theirs' }, padding: 'x'.repeat(64 * 1024) },
]

export type MakeXdsCase = (index: number) => XdsCase

/** The same seed and index make the same bytes. */
export function createXdsCases(seed: number): MakeXdsCase {
  const protos = loadProtos()
  const serializers: Readonly<Record<Variant, (message: object) => Buffer>> = {
    sotw: protos.discoveryService['StreamAggregatedResources']!.requestSerialize as (message: object) => Buffer,
    delta: protos.discoveryService['DeltaAggregatedResources']!.requestSerialize as (message: object) => Buffer,
  }

  return (index) => {
    const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
    const variant = random() < 0.5 ? 'sotw' : 'delta'
    const dice = createDice(random)
    const { pick, chance, whole } = dice

    const valid = (isFirst: boolean): Buffer => serializers[variant](isFirst ? withNode(request()) : request())
    const count = 1 + whole(MOST_MESSAGES)
    const messages: Buffer[] = []
    // Half of the streams get in first: what they send then meets a live session.
    const isHonestAtFirst = chance(0.5)
    for (let nth = 0; nth < count; nth++) {
      if (nth === 0 && isHonestAtFirst)
        messages.push(frame(serializers[variant]({ ...request(), node: nodeOf(`default.f${index}`, plainDataplane('web', 8080)) })))
      else messages.push(wrap(mutated(nth === 0), dice))
    }
    return { path: pathOf(), headers: headersOf(), messages }

    function pathOf(): string {
      if (chance(0.01)) return SERVICE + pick(['', 'Nothing', '../x', 'StreamAggregatedResources/'])
      return SERVICE + (variant === 'sotw' ? 'StreamAggregatedResources' : 'DeltaAggregatedResources')
    }

    function headersOf(): Readonly<Record<string, string>> {
      if (chance(0.95)) return {}
      return pick<Readonly<Record<string, string>>>([
        { 'grpc-timeout': '-1S' },
        { 'grpc-timeout': '99999999999H' },
        { 'grpc-encoding': 'nonsense' },
        { 'grpc-encoding': 'gzip' },
        { 'content-type': 'text/plain' },
        { 'x-bin': '!!not base64' },
        { 'odd-bin': '!!not base64' },
        { 'x-odd': 'x'.repeat(10_000) },
      ])
    }

    function request(): Record<string, unknown> {
      const base = {
        type_url: chance(0.9) ? pick(types) : pick(oddTypes),
        response_nonce: chance(0.5) ? String(whole(5)) : pick(['', 'x', oddNames[8]!]),
      }
      const error = chance(0.2) ? { error_detail: { code: whole(20), message: pick(['', 'bad', 'x'.repeat(5_000)]) } } : {}
      const names = Array.from({ length: chance(0.05) ? 3_000 : whole(4) }, (_, at) => (chance(0.2) ? pick(oddNames) : `name-${at}`))
      if (variant === 'sotw') return { ...base, ...error, resource_names: names, version_info: pick(['', '1', 'x']) }
      const versions = chance(0.1) ? { initial_resource_versions: Object.fromEntries(names.map((name) => [name, '1'])) } : {}
      return { ...base, ...error, ...versions, resource_names_subscribe: names, resource_names_unsubscribe: chance(0.3) ? names : [] }
    }

    function withNode(message: Record<string, unknown>): Record<string, unknown> {
      const id = chance(0.5) ? pick(oddIds) : pick(['default.web', `default.f${index}`])
      if (chance(0.4))
        return { ...message, node: { id, metadata: { fields: { 'dataplane.resource': { stringValue: pick(oddDataplanes) } } } } }
      if (chance(0.1)) return { ...message, node: { id, metadata: { fields: { 'dataplane.resource': { listValue: { values: [] } } } } } }
      return { ...message, node: nodeOf(id, chance(0.7) ? pick(oddSpecs) : plainDataplane('web', 8080)) }
    }

    function mutated(isFirst: boolean): Buffer {
      const honest = valid(isFirst || chance(0.1))
      // Most streams go on for a while: what breaks a message ends the stream.
      if (!isFirst && chance(0.6)) return honest
      return mutate(honest, fieldsOf[variant], dice)
    }
  }
}

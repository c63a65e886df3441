import { seededRandom } from '../../../server/demo/population.ts'
import { nodeOf, plainDataplane } from '../../../server/xds/testing/raw-client.ts'
import { loadProtos, TYPE_URL_PREFIX } from '../../../server/xds/protos.ts'
import { lengthDelimited, nested, tag, text, varint } from './protobuf-bytes.ts'
import { frame } from './raw-grpc.ts'

/** One stream's worth of bytes that no honest peer sends. */
export interface XdsCase {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly messages: readonly Buffer[]
}

type Variant = 'sotw' | 'delta'

const SERVICE = '/envoy.service.discovery.v3.AggregatedDiscoveryService/'
const NODE_FIELD: Readonly<Record<Variant, number>> = { sotw: 2, delta: 1 }
const ERROR_DETAIL_FIELD: Readonly<Record<Variant, number>> = { sotw: 6, delta: 7 }
const TYPE_URL_FIELD: Readonly<Record<Variant, number>> = { sotw: 4, delta: 2 }
const NAMES_FIELD = 3
const MOST_MESSAGES = 20
const HUGE = 10 * 1024 * 1024
/** Of those that take a whole machine's time to send there are few. */
const HUGE_SHARE = 1 / 400

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
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
    const chance = (share: number) => random() < share
    const whole = (below: number) => Math.floor(random() * below)

    const valid = (isFirst: boolean): Buffer => serializers[variant](isFirst ? withNode(request()) : request())
    const count = 1 + whole(MOST_MESSAGES)
    const messages: Buffer[] = []
    // Half of the streams get in first: what they send then meets a live session.
    const isHonestAtFirst = chance(0.5)
    for (let nth = 0; nth < count; nth++) {
      if (nth === 0 && isHonestAtFirst)
        messages.push(frame(serializers[variant]({ ...request(), node: nodeOf(`default.f${index}`, plainDataplane('web', 8080)) })))
      else messages.push(wrapped(mutated(nth === 0)))
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
      if (chance(HUGE_SHARE)) return pick([huge, hugeCrowd])(honest)
      return pick([
        keep,
        keep,
        cutOff,
        flipped,
        duplicated,
        lyingLength,
        wrongWireType,
        hugeVarint,
        deepAny,
        deepStruct,
        badUtf8,
        unknownEnum,
        garbage,
        unclosedGroup,
      ])(honest)
    }

    function keep(honest: Buffer): Buffer {
      return honest
    }
    function cutOff(honest: Buffer): Buffer {
      return honest.subarray(0, whole(honest.length + 1))
    }
    function flipped(honest: Buffer): Buffer {
      const bytes = Buffer.from(honest)
      for (let times = 1 + whole(8); times > 0 && bytes.length > 0; times--) bytes[whole(bytes.length)] = whole(256)
      return bytes
    }
    function duplicated(honest: Buffer): Buffer {
      return Buffer.concat([honest, honest, honest])
    }
    function lyingLength(honest: Buffer): Buffer {
      const length = pick([-1n, 1n << 31n, (1n << 31n) - 1n, 1n << 32n, 1n << 62n, BigInt(honest.length + 1)])
      return Buffer.concat([honest, lengthDelimited(pick([1, 2, 3, 4, 5, 6, 7]), Buffer.from('short'), length)])
    }
    function wrongWireType(honest: Buffer): Buffer {
      return Buffer.concat([honest, tag(1 + whole(8), pick([0, 1, 3, 4, 5, 6, 7])), varint(BigInt(whole(1_000_000)))])
    }
    function hugeVarint(honest: Buffer): Buffer {
      return Buffer.concat([honest, tag(1 + whole(8), 0), Buffer.alloc(10 + whole(40), 0xff)])
    }
    /** A google.protobuf.Any in an Any in an Any, in the details of an error. */
    function deepAny(honest: Buffer): Buffer {
      const depth = pick([10, 200, 3_000])
      let any: Buffer = text(1, 'type.googleapis.com/google.protobuf.Any')
      for (let level = 0; level < depth; level++)
        any = Buffer.concat([text(1, 'type.googleapis.com/google.protobuf.Any'), lengthDelimited(2, any)])
      return Buffer.concat([honest, lengthDelimited(ERROR_DETAIL_FIELD[variant], Buffer.concat([text(2, 'no'), lengthDelimited(3, any)]))])
    }
    /** A list in a list in a list, in the metadata of the node. */
    function deepStruct(honest: Buffer): Buffer {
      const value = deepList(pick([20, 90, 3_000]))
      const entry = Buffer.concat([text(1, 'dataplane.resource'), lengthDelimited(2, value)])
      return Buffer.concat([
        honest,
        lengthDelimited(NODE_FIELD[variant], Buffer.concat([text(1, 'default.web'), lengthDelimited(3, lengthDelimited(1, entry))])),
      ])
    }
    function deepList(depth: number): Buffer {
      let value: Buffer = Buffer.alloc(0)
      for (let level = 0; level < depth; level++) value = lengthDelimited(6, lengthDelimited(1, value))
      return value
    }
    function badUtf8(honest: Buffer): Buffer {
      const bad = Buffer.from([0x64, 0xff, 0xfe, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xf8])
      return Buffer.concat([
        honest,
        lengthDelimited(pick([TYPE_URL_FIELD[variant], NAMES_FIELD, 5]), bad),
        lengthDelimited(NODE_FIELD[variant], lengthDelimited(1, bad)),
      ])
    }
    function unknownEnum(honest: Buffer): Buffer {
      // The null of a google.protobuf.Value is an enum, and so is the protocol of a listening address.
      const value = Buffer.concat([tag(1, 0), varint(BigInt(pick([7, -1, 2 ** 31])))])
      const entry = Buffer.concat([text(1, 'dataplane.resource'), lengthDelimited(2, value)])
      const address = nested(1, 1, Buffer.concat([tag(1, 0), varint(99n)]))
      return Buffer.concat([
        honest,
        lengthDelimited(NODE_FIELD[variant], Buffer.concat([lengthDelimited(3, lengthDelimited(1, entry)), lengthDelimited(11, address)])),
      ])
    }
    function garbage(): Buffer {
      return Buffer.from(Array.from({ length: whole(300) }, () => whole(256)))
    }
    function unclosedGroup(honest: Buffer): Buffer {
      return Buffer.concat([honest, Buffer.alloc(pick([1, 100, 20_000]), tag(9, 3))])
    }
    function huge(honest: Buffer): Buffer {
      return Buffer.concat([
        honest,
        text(pick([NAMES_FIELD, TYPE_URL_FIELD[variant], 5]), 'x'.repeat(pick([HUGE, HUGE - 1_000, HUGE / 4]))),
      ])
    }
    /** Few bytes each, a great many: names, or elements of the node. */
    function hugeCrowd(honest: Buffer): Buffer {
      const bytes = pick([HUGE / 3, HUGE / 6, HUGE / 20])
      const crowd = (one: Buffer) => Buffer.alloc(Math.floor(bytes / one.length) * one.length, one)
      const empty = (field: number) => lengthDelimited(field, Buffer.alloc(0))
      const node = NODE_FIELD[variant]
      return Buffer.concat([
        honest,
        pick([
          () => crowd(text(NAMES_FIELD, 'a')),
          () => crowd(empty(node)),
          () => lengthDelimited(node, crowd(empty(pick([3, 9, 11])))),
          () =>
            lengthDelimited(
              node,
              lengthDelimited(
                3,
                lengthDelimited(1, Buffer.concat([text(1, 'x'), lengthDelimited(2, lengthDelimited(6, crowd(empty(1))))])),
              ),
            ),
          () => lengthDelimited(ERROR_DETAIL_FIELD[variant], crowd(empty(3))),
        ])(),
      ])
    }

    function wrapped(message: Buffer): Buffer {
      if (chance(0.97)) return frame(message)
      return pick([
        () => frame(message, { flag: 1 }),
        () => frame(message, { flag: whole(256) }),
        () => frame(message, { length: message.length + 1 + whole(1_000) }),
        () => frame(message, { length: -1 }),
        () => frame(message, { length: 2 ** 31 }),
        () => frame(message, { length: Math.floor(message.length / 2) }),
        () => frame(message).subarray(0, whole(message.length + 5)),
      ])()
    }
  }
}

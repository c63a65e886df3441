import { seededRandom } from '../../../server/demo/population.ts'
import { loadKdsProtos } from '../../../server/kds/protos.ts'
import { kumaTypes } from '../../../server/model/kuma-types.ts'
import { createDice, DELTA_REQUEST, DELTA_RESPONSE, type Dice, mutate, wrap } from './mutations.ts'
import { lengthDelimited, text } from './protobuf-bytes.ts'
import { frame } from './raw-grpc.ts'

/** Which way resources cross on a stream; whoever sends them writes responses, the other end requests. */
export type Direction = 'GlobalToZoneSync' | 'ZoneToGlobalSync'
export type Peer = 'zone' | 'global'

/** One stream's worth of what no honest control plane says. */
export interface KdsCase {
  readonly direction: Direction
  readonly path: string
  /** A zone's, that opens the stream. */
  readonly headers: Readonly<Record<string, string>>
  readonly messages: readonly Buffer[]
}

const PACKAGE = 'kuma.mesh.v1alpha1'
const MOST_MESSAGES = 20
/** Each newer stream of a zone ends the older one: with many they meet now and then. */
const ZONES = 40
const types = kumaTypes.map(({ type }) => type)
const oddTypes = ['', 'x', 'type.googleapis.com/', '__proto__', 'constructor', 'Mesh\0', 'MESH', '\u{1f30a}'.repeat(300)]
const oddNames = [
  '',
  '*',
  '\0',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '\u{1f30a}',
  'a'.repeat(1_000),
  '%s%n',
  'a.b.c',
  '.',
  'A B',
]
const oddZones = ['', ' ', 'UPPER', '../x', 'x'.repeat(300), '__proto__', 'constructor', 'a/b', 'zone.', '.zone']
const oddLabels: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'kuma.io/origin': 'nobody', 'kuma.io/zone': 'another' },
  { 'kuma.io/mesh': '__proto__', 'kuma.io/display-name': '\0' },
  JSON.parse('{"__proto__":"x","constructor":"y","":""}') as Record<string, string>,
  Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`label-${at}`, 'x'.repeat(100)])),
]
const oddJson = [
  '',
  'null',
  '[]',
  '7',
  '{',
  '{}',
  '"x"',
  '{"__proto__":{"polluted":true}}',
  '{"targetRef":{"kind":"Mesh"},"to":"x"}',
  '{"default":{"a":"\\ud800"}}',
  '{"@wire":{"type":7}}',
  '{"@wire":{"type":"x","value":"!!"}}',
]
const largeJson: readonly (() => string)[] = [
  () => `${'{"a":'.repeat(90)}1${'}'.repeat(90)}`,
  () => `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`,
  () => `{"deep":${'['.repeat(60_000)}${']'.repeat(60_000)}}`,
  () => JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]))),
  () => JSON.stringify({ text: 'x'.repeat(900_000) }),
]

/** Cases of one peer, whichever stream it speaks on. The same seed and index make the same bytes. */
export function createKdsCases(seed: number, peer: Peer): (index: number) => KdsCase {
  const { syncService, message } = loadKdsProtos()
  const { requestSerialize, responseSerialize } = syncService['GlobalToZoneSync']!
  const resourceOf = message(`${PACKAGE}.KumaResource`)

  return (index) => {
    const dice = createDice(seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x27d4eb2f)))
    const { pick, chance, whole } = dice
    const direction = pick(['GlobalToZoneSync', 'ZoneToGlobalSync'] as const)
    const sendsResources = (direction === 'GlobalToZoneSync') === (peer === 'global')
    const honest = () => Buffer.from(sendsResources ? responseSerialize(response(dice)) : requestSerialize(request(dice)))
    const fields = sendsResources ? DELTA_RESPONSE : DELTA_REQUEST
    const messages = Array.from({ length: 1 + whole(MOST_MESSAGES) }, () =>
      // Most streams go on for a while: what breaks a message ends the stream.
      chance(0.6) ? frame(honest()) : wrap(mutate(honest(), fields, dice), dice),
    )
    return { direction, path: `/${PACKAGE}.${methodOf(dice, direction)}`, headers: headersOf(dice), messages }
  }

  function response({ pick, chance, whole }: Dice): object {
    const type = chance(0.9) ? pick(types) : pick(oddTypes)
    const removed = chance(0.2) ? Array.from({ length: chance(0.05) ? 3_000 : whole(4) }, () => `${pick(oddNames)}.default`) : []
    const count = chance(0.02) ? 1_000 : whole(4)
    const resources = Array.from({ length: count }, () => {
      const name = chance(0.2) ? pick(oddNames) : `r-${whole(5)}`
      const mesh = chance(0.8) ? 'default' : pick(['', ...oddNames])
      const meta = { name, mesh, version: pick(['', '1']), labels: pick(count < 10 ? oddLabels : [{}]) }
      const value = resourceOf.serialize({
        ...(chance(0.95) && { meta }),
        spec: specOf(type),
        ...(chance(0.1) && { status: specOf(type) }),
      })
      const typeUrl = chance(0.95) ? `type.googleapis.com/${PACKAGE}.KumaResource` : pick(oddTypes)
      return { name: `${name}.${mesh}`, version: pick(['', '1']), ...(chance(0.97) && { resource: { type_url: typeUrl, value } }) }
    })
    return { type_url: type, nonce: pick(['', '1', 'x'.repeat(2_000)]), resources, removed_resources: removed }

    function specOf(of: string): object {
      const isJson = chance(0.6)
      const content = count < 10 && chance(0.03) ? pick(largeJson)() : pick(oddJson)
      if (isJson) return { type_url: '', value: Buffer.from(content) }
      const bytes = pick([
        () => Buffer.alloc(0),
        () => Buffer.from(content),
        () => text(1, pick(oddNames)),
        () => lengthDelimited(1, lengthDelimited(1, text(1, 'x'))),
        () => Buffer.alloc(50, 0xff),
      ])()
      return {
        type_url: `type.googleapis.com/${PACKAGE}.${chance(0.8) ? of : pick(['Mesh', 'Dataplane', 'DataplaneInsight', ''])}`,
        value: bytes,
      }
    }
  }

  function request({ pick, chance, whole }: Dice): object {
    const names = Array.from({ length: chance(0.05) ? 3_000 : whole(4) }, () => pick(['*', ...oddNames]))
    const text_ = (stringValue: string) => ({ stringValue })
    const metadata = {
      fields: {
        config: text_(chance(0.05) ? pick(largeJson)() : pick(oddJson)),
        version: chance(0.5) ? { structValue: { fields: { kumaCp: text_('x') } } } : text_('\0'),
        features: { listValue: { values: pick([[], [text_('hash-suffix')], [text_('__proto__'), { numberValue: 1 }]]) } },
      },
    }
    return {
      ...(chance(0.7) && { node: { id: pick(oddNames), user_agent_name: pick(oddNames), metadata } }),
      type_url: chance(0.9) ? pick(types) : pick(oddTypes),
      resource_names_subscribe: chance(0.5) ? ['*'] : names,
      resource_names_unsubscribe: chance(0.2) ? names : [],
      initial_resource_versions: chance(0.2) ? Object.fromEntries(names.map((name) => [name, '1'])) : {},
      response_nonce: pick(['', '1', '2', 'x'.repeat(2_000)]),
      ...(chance(0.2) && {
        error_detail: { code: whole(20), message: pick(['', 'r-1.default: no', '\n'.repeat(500), 'x'.repeat(100_000)]) },
      }),
    }
  }
}

function methodOf({ chance, pick }: Dice, direction: Direction): string {
  if (chance(0.96)) return `KDSSyncService/${direction}`
  return pick([
    'GlobalKDSService/StreamStats',
    'GlobalKDSService/StreamXDSConfigs',
    'KDSSyncService/',
    'KDSSyncService/Nothing',
    'Nothing/x',
  ])
}

function headersOf({ chance, pick, whole }: Dice): Readonly<Record<string, string>> {
  const zone = chance(0.95) ? `zone-${whole(ZONES)}` : pick(oddZones)
  const odd = chance(0.95)
    ? {}
    : pick<Readonly<Record<string, string>>>([
        { 'grpc-timeout': '-1S' },
        { 'grpc-encoding': 'nonsense' },
        { 'grpc-encoding': 'gzip' },
        { version: 'x'.repeat(5_000) },
        { 'odd-bin': '!!not base64' },
        { 'x-odd': 'x'.repeat(10_000) },
      ])
  return { 'client-id': zone, version: '2.14.3', ...(chance(0.5) && { features: 'hash-suffix' }), ...odd }
}

import { seededRandom } from '../../../server/demo/population.ts'

/** One HTTP request as bytes, or one socket's worth of frames. */
export type ApiCase =
  | { readonly kind: 'http'; readonly bytes: Buffer; /** The peer leaves in the middle of it. */ readonly isCut: boolean }
  | { readonly kind: 'socket'; readonly query: string; readonly protocol: string | undefined; readonly frames: readonly SocketFrame[] }

export type SocketFrame =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'binary'; readonly bytes: Buffer }
  /** In pieces. */
  | { readonly kind: 'fragments'; readonly texts: readonly string[] }
  /** Bytes past the protocol. */
  | { readonly kind: 'raw'; readonly bytes: Buffer }

const SOCKET_SHARE = 0.3
const queries = [
  'overview.counters',
  'insights.list',
  'insights.rows',
  'insights.get',
  'settings.list',
  'settings.history',
  'sessions.get',
  'resources.get',
  'resources.list',
  'links.list',
  'conflicts.list',
  'debug.snapshot',
]
const mutations = ['settings.apply', 'resources.apply', 'resources.delete', 'sessions.resync', 'links.retry']
const oddPaths = [
  '',
  '.',
  '..',
  '%',
  '%00',
  '%2e%2e%2f',
  '__proto__',
  'constructor',
  'toString',
  'settings.__proto__',
  'settings.apply.apply',
  'insights.list,insights.list',
  ',,,,',
  'x'.repeat(5_000),
  '\u00ff',
]
const oddValues = [
  'null',
  '[]',
  '{}',
  '0',
  '-1',
  '1e999',
  '""',
  'true',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{}}}',
  '[[[[',
  '{"a":',
  '\u0000',
  'NaN',
  'undefined',
  '{"key":"sink.dataplane.flushIntervalMs","value":{"a":1},"expectedVersion":"0"}',
  '{"key":"__proto__","value":1,"expectedVersion":"0"}',
  '{"key":"x","value":1,"expectedVersion":0}',
  '{"id":"\\u0000"}',
  '{"id":"__proto__"}',
  '{"key":{"type":"__proto__","mesh":"constructor","name":"\\ud800"}}',
  '{"key":{"type":"Dataplane","mesh":"default","name":"a\\u0000b"}}',
  '{"keys":[{"type":"DataplaneInsight","mesh":"default","name":"x"}]}',
  '{"limit":1e308}',
  '{"limit":-1}',
  '{"limit":"1"}',
  '{"cursor":"%%%"}',
  '{"cursor":"eyJhIjoxfQ=="}',
  '{"resource":{"type":"Mesh","name":"a\\u0000b"}}',
  '{"resource":{"type":"Mesh","name":"../x"},"expectedVersion":"9"}',
  '{"resource":{"type":"Mesh","name":"__proto__"},"expectedVersion":"9"}',
  '{"resource":{"type":"constructor","name":"x"}}',
  '{"resource":{"type":"Dataplane","mesh":"default","name":"\\ud800","networking":{"address":"x"}}}',
]

/** Made when asked for: some are large. */
const largeValues: readonly (() => string)[] = [
  () => `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  () => `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  () => `{"resource":{"type":"Mesh","name":"deep","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`,
  () =>
    `{"resource":{"type":"Dataplane","mesh":"default","name":"deep","networking":{"address":"x"},"x":${'['.repeat(3_000)}${']'.repeat(3_000)}}}`,
  () => JSON.stringify('x'.repeat(900_000)),
  () => JSON.stringify('x'.repeat(1_500_000)),
  () => JSON.stringify({ keys: Array.from({ length: 5_000 }, (_, at) => ({ type: 'DataplaneInsight', mesh: 'default', name: `n${at}` })) }),
  () => JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]))),
]

/** The same seed and index make the same bytes. */
export function createApiCases(seed: number, host: string): (index: number) => ApiCase {
  return (index) => {
    const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0xc2b2ae35))
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
    const chance = (share: number) => random() < share
    const whole = (below: number) => Math.floor(random() * below)
    const value = () => (chance(0.04) ? pick(largeValues)() : pick(oddValues))
    return chance(SOCKET_SHARE) ? socketCase() : httpCase()

    function httpCase(): ApiCase {
      const isMutation = chance(0.5)
      const procedure = chance(0.15) ? pick(oddPaths) : pick(isMutation ? mutations : queries)
      const calls = chance(0.1) ? whole(80) : 1
      const path = Array.from({ length: calls }, () => procedure).join(',')
      const isBatch = calls !== 1 || chance(0.1)
      const content = isBatch && chance(0.7) ? `{"0":${value()}}` : value()
      const method = chance(0.1) ? pick(['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'BREW']) : isMutation ? 'POST' : 'GET'
      const query = [
        isBatch ? `batch=${pick(['1', '1', '2', 'x', ''])}` : '',
        isMutation ? '' : `input=${encodeURIComponent(content.slice(0, 20_000).toWellFormed())}`,
        chance(0.05) ? pick(['%', 'input=%E0%A4%A', 'input[]=1', 'connectionParams=1', 'batch=1&batch=1']) : '',
      ]
      const target = `/api/trpc/${encodeOdd(path)}?${query.filter((part) => part !== '').join('&')}`
      const type = chance(0.15)
        ? pick([
            'text/plain',
            'application/x-www-form-urlencoded',
            'multipart/form-data; boundary=x',
            'application/octet-stream',
            '',
            'application/json; charset=utf-16',
            'application/jsonl',
          ])
        : 'application/json'
      const body = Buffer.from(isMutation || chance(0.05) ? content : '')
      const declared = chance(0.05) ? pick([body.length + 100, 0, 2 ** 40]) : body.length
      const odd = chance(0.1)
        ? pick([
            'trpc-accept: application/jsonl\r\n',
            'content-encoding: gzip\r\n',
            'expect: 100-continue\r\n',
            'x-operator: \u00e9\u0001\r\n',
            'transfer-encoding: chunked\r\n',
            `x-long: ${'x'.repeat(30_000)}\r\n`,
            'content-length: 1\r\n',
          ])
        : ''
      const head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n${type === '' ? '' : `content-type: ${type}\r\n`}content-length: ${declared}\r\n${odd}connection: close\r\n\r\n`
      const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body])
      const isCut = chance(0.05) || declared > body.length
      return { kind: 'http', bytes: isCut ? bytes.subarray(0, Math.max(1, whole(bytes.length))) : bytes, isCut }
    }

    /** Most of what is odd goes as it is: an honest client would have encoded it. */
    function encodeOdd(path: string): string {
      return path.replaceAll(/[\0-\x20\x7f-\uffff]/g, (each) => encodeURIComponent(each))
    }

    function socketCase(): ApiCase {
      const frames = Array.from({ length: 1 + whole(chance(0.05) ? 500 : 8) }, socketFrame)
      return {
        kind: 'socket',
        query: chance(0.1) ? pick(['?connectionParams=1', '?x=%', '?']) : '',
        protocol: chance(0.05) ? 'nonsense' : undefined,
        frames,
      }
    }

    function socketFrame(): SocketFrame {
      const text = chance(0.4) ? subscription() : chance(0.5) ? value() : `{"id":${value()},"method":${value()},"params":${value()}}`
      if (chance(0.7)) return { kind: 'text', text }
      return pick<() => SocketFrame>([
        () => ({ kind: 'binary', bytes: Buffer.from(Array.from({ length: whole(200) }, () => whole(256))) }),
        () => ({ kind: 'binary', bytes: Buffer.from(text) }),
        () => ({ kind: 'fragments', texts: [text.slice(0, 3), text.slice(3, 9), text.slice(9)] }),
        () => ({ kind: 'raw', bytes: Buffer.from(Array.from({ length: 2 + whole(60) }, () => whole(256))) }),
        () => ({ kind: 'raw', bytes: Buffer.from('81ffffffffffffffffff', 'hex') }),
        () => ({ kind: 'text', text: 'x'.repeat(300_000) }),
      ])()
    }

    function subscription(): string {
      const scope = pick([
        '{}',
        '{"counters":true}',
        '{"insights":[{"type":"DataplaneInsight","mesh":"default","name":"x"}]}',
        '{"links":true,"counters":1}',
        value(),
      ])
      const method = pick(['subscription', 'subscription', 'query', 'mutation', 'subscription.stop', '__proto__'])
      return `{"id":${pick(['1', '"1"', 'null', '{}', String(whole(1_000))])},"jsonrpc":"2.0","method":"${method}","params":{"path":"${pick(['live', 'live', 'overview.counters', 'settings.apply', '__proto__', ''])}","input":${scope}}}`
    }
  }
}

import { describe, expect, it } from 'vitest'
import type { Node__Output } from '../gen/envoy/config/core/v3/Node.ts'
import { identifyNode } from './node-identity.ts'

const dataplane = {
  type: 'Dataplane',
  mesh: 'default',
  name: 'web-1',
  networking: { address: '127.0.0.1', inbound: [{ port: 80, tags: { 'kuma.io/service': 'web' } }] },
}
const nodeOf = (id: string, resource?: unknown) =>
  ({
    id,
    user_agent_name: 'envoy',
    user_agent_version: '',
    user_agent_build_version: { version: { major_number: 1, minor_number: 40, patch: 0 } },
    metadata:
      resource === undefined
        ? null
        : { fields: { 'dataplane.resource': { stringValue: typeof resource === 'string' ? resource : JSON.stringify(resource) } } },
  }) as unknown as Node__Output

describe('a node', () => {
  it('is its mesh and name, however many dots the name has, with the Dataplane it brings', () => {
    expect(identifyNode(nodeOf('default.web-1', dataplane))).toMatchObject({
      subject: { type: 'Dataplane', mesh: 'default', name: 'web-1' },
      dataplane: { networking: { address: '127.0.0.1', outbound: [] } },
      agent: 'envoy 1.40.0',
    })
    expect(identifyNode(nodeOf('default.web.1.eu')).subject).toMatchObject({ mesh: 'default', name: 'web.1.eu' })
  })

  it('keeps what it does not know of a Dataplane, but not a marker of a session, which is ours', () => {
    const { dataplane: read } = identifyNode(
      nodeOf('default.web-1', { ...dataplane, probes: { port: 9000 }, session: { id: 'x', instance: 'y' } }),
    )
    expect(read).toMatchObject({ probes: { port: 9000 } })
    expect(read?.session).toBeUndefined()
  })

  const refused: Record<string, readonly [node: Node__Output | null, says: RegExp]> = {
    'no node': [null, /first message.*<mesh>.<name>/],
    'an empty id': [nodeOf(''), /<mesh>.<name>/],
    'an id without a dot': [nodeOf('web-1'), /"web-1".*default.web-1/],
    'an id that begins with a dot': [nodeOf('.web'), /<mesh>.<name>/],
    'an id that ends with a dot': [nodeOf('default.'), /<mesh>.<name>/],
    'an id without end': [nodeOf(`a.${'x'.repeat(600)}`), /602 characters; at most 512/],
    'a NUL in its id': [nodeOf('default.a\0b'), /"default.a\\u0000b".*control/],
    'a line break in its id': [nodeOf('default.a\r\nb'), /control/],
    'a space in its id': [nodeOf('default.a b'), /spaces/],
    'a text direction in its id': [nodeOf('default.\u202eb'), /invisible/],
    'bytes that are not UTF-8 in its id': [nodeOf('default.a\ufffd'), /not UTF-8/],
    'a name that the API could not be asked for': [nodeOf(`default.${'x'.repeat(254)}`), /at most 253/],
    'a Dataplane that is nested without end': [
      nodeOf('default.web-1', `{"type":"Dataplane","deep":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
      /more than 32 objects and lists/,
    ],
    'a Dataplane whose mesh is a book': [nodeOf('default.web-1', { ...dataplane, mesh: 'm'.repeat(100_000) }), /^.{1,500}must agree$/],
    'a Dataplane that is not JSON': [nodeOf('default.web-1', '{"type":'), /not JSON.*for example/],
    'a Dataplane that is a list': [nodeOf('default.web-1', []), /must be a JSON object/],
    'a Dataplane of another type': [nodeOf('default.web-1', { ...dataplane, type: 'Mesh' }), /must be a Dataplane/],
    'a Dataplane of another name': [nodeOf('default.web-2', dataplane), /must agree/],
    'a Dataplane without an address': [nodeOf('default.web-1', { ...dataplane, networking: {} }), /networking.address/],
    'an inbound without a service': [
      nodeOf('default.web-1', { ...dataplane, networking: { address: 'a', inbound: [{ port: 1, tags: {} }] } }),
      /kuma.io\/service/,
    ],
    'a port that is none': [
      nodeOf('default.web-1', { ...dataplane, networking: { address: 'a', inbound: [{ port: 70000, tags: { 'kuma.io/service': 'x' } }] } }),
      /networking.inbound.0.port/,
    ],
  }
  for (const [what, [node, says]] of Object.entries(refused)) {
    it(`with ${what} is refused with what would be right`, () => expect(() => identifyNode(node)).toThrow(says))
  }
})

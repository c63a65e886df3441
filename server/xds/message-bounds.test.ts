import { describe, expect, it } from 'vitest'
import { withMessageBounds } from './message-bounds.ts'
import { loadProtos } from './protos.ts'

const { discoveryService } = loadProtos()
const bounded = withMessageBounds(discoveryService)

describe.each(['StreamAggregatedResources', 'DeltaAggregatedResources'])('a request of %s', (name) => {
  const serialize = discoveryService[name]!.requestSerialize as (message: object) => Buffer
  const read = (message: object) => bounded[name]!.requestDeserialize(serialize(message)) as { node: { id: string }; tooLarge?: string }
  const nodeWith = (padding: number) => ({ id: 'default.web', user_agent_name: 'x'.repeat(padding) })

  it('is read as ever within its bounds, with a node of a megabyte and a longer list of names', () => {
    const names = Array.from({ length: 30_000 }, (_, index) => `a-name-that-is-as-long-as-any-${index}`)
    const message = {
      node: nodeWith(1 << 20),
      error_detail: { code: 3, message: 'no' },
      resource_names: names,
      resource_names_subscribe: names,
    }
    expect(read(message).node.id).toBe('default.web')
  })

  it('is refused with more than 2 MiB of node, also when it comes in parts', () => {
    expect(read({ node: nodeWith(3 << 20) }).tooLarge).toMatch(/at most 2048 KiB/)
    const half = serialize({ node: nodeWith((1 << 20) + 100) })
    expect(bounded[name]!.requestDeserialize(Buffer.concat([half, half]))).toHaveProperty('tooLarge')
  })

  it('is refused with more than 64 KiB of error, whose details nobody reads', () => {
    const details = Array.from({ length: 40_000 }, () => ({}))
    expect(read({ error_detail: { code: 3, message: 'no', details } }).tooLarge).toMatch(/at most 64 KiB/)
  })

  it('that is no message is left to the decoder', () => {
    expect(() => bounded[name]!.requestDeserialize(Buffer.alloc(40, 0xff))).toThrow(/wire type|offset|index out of range/)
  })
})

import type { ServiceDefinition } from '@grpc/grpc-js'

/** Two bytes of a message can become an object of a hundred and more, so some fields have bounds of their own. */
const MOST_NODE_BYTES = 2 << 20
const MOST_ERROR_BYTES = 64 << 10

const TOO_LARGE: TooLarge = {
  tooLarge: `the node of a request has at most ${MOST_NODE_BYTES >> 10} KiB and its error at most ${MOST_ERROR_BYTES >> 10} KiB`,
}

/** By the field numbers of DiscoveryRequest and DeltaDiscoveryRequest. */
const boundsOf: Readonly<Record<string, ReadonlyMap<number, number>>> = {
  StreamAggregatedResources: new Map([
    [2, MOST_NODE_BYTES],
    [6, MOST_ERROR_BYTES],
  ]),
  DeltaAggregatedResources: new Map([
    [1, MOST_NODE_BYTES],
    [7, MOST_ERROR_BYTES],
  ]),
}

/** In the place of a request that is not read. */
export interface TooLarge {
  readonly tooLarge: string
}

/** The same service; of a request whose node or error is beyond bounds nothing is made but what to tell its sender. */
export function withMessageBounds(service: ServiceDefinition): ServiceDefinition {
  const bounded = Object.entries(service).map(([name, method]) => {
    const bounds = boundsOf[name]
    if (bounds === undefined) return [name, method]
    const requestDeserialize = (bytes: Buffer): unknown => {
      return isBeyond(bytes, bounds) ? TOO_LARGE : method.requestDeserialize(bytes)
    }
    return [name, { ...method, requestDeserialize }]
  })
  return Object.fromEntries(bounded) as ServiceDefinition
}

/** Walks the outermost fields alone, which copies nothing. What is no message at all is for the decoder to refuse. */
function isBeyond(bytes: Buffer, bounds: ReadonlyMap<number, number>): boolean {
  const used = new Map<number, number>()
  let at = 0
  while (at < bytes.length) {
    const tag = varint()
    const field = Math.floor(tag / 8)
    const startsAt = at
    switch (tag % 8) {
      case 0:
        varint()
        break
      case 1:
        at += 8
        break
      case 2:
        // Not `at += varint()`, which would add to where the varint began.
        at = varint() + at
        break
      case 5:
        at += 4
        break
      default:
        return false
    }
    const bound = bounds.get(field)
    if (bound === undefined) continue
    // The decoder merges a field that comes again.
    const total = (used.get(field) ?? 0) + at - startsAt
    used.set(field, total)
    if (total > bound) return true
  }
  return false

  function varint(): number {
    let value = 0
    let scale = 1
    for (; at < bytes.length; scale *= 128) {
      const byte = bytes[at++]!
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    return value
  }
}

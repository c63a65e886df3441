/** Protobuf's wire format by hand: what an encoder for a schema would never write. */

export function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return Buffer.from([...bytes, Number(rest)])
}

export function tag(field: number, wireType: number): Buffer {
  return varint((BigInt(field) << 3n) | BigInt(wireType))
}

/** A string, bytes or a message; `length` when it lies about it. */
export function lengthDelimited(field: number, content: Buffer, length: bigint = BigInt(content.length)): Buffer {
  return Buffer.concat([tag(field, 2), varint(length), content])
}

export function text(field: number, content: string): Buffer {
  return lengthDelimited(field, Buffer.from(content))
}

/** `content` inside the same field of the same message, `depth` times over. */
export function nested(field: number, depth: number, content: Buffer = Buffer.alloc(0)): Buffer {
  let inner = content
  for (let level = 0; level < depth; level++) inner = lengthDelimited(field, inner)
  return inner
}

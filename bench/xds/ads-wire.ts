/** The three messages of a state-of-the-world stream that a lean client needs, to and from bytes. */

export interface Asked {
  readonly type: string
  readonly names?: readonly string[]
  readonly version?: string
  readonly nonce?: string
  /** Serialised. */
  readonly node?: Buffer
}

export interface Answered {
  readonly type: string
  readonly version: string
  readonly nonce: string
  readonly resources: number
}

export function encodeRequest({ type, names = [], version = '', nonce = '', node }: Asked): Buffer {
  return Buffer.concat([
    ...field(1, version),
    ...(node === undefined ? [] : field(2, node)),
    ...names.flatMap((name) => field(3, name)),
    ...field(4, type),
    ...field(5, nonce),
  ])
}

/** A node that brings its Dataplane along. */
export function encodeNode(id: string, dataplane: object): Buffer {
  const value = Buffer.concat(field(3, JSON.stringify(dataplane)))
  const entry = Buffer.concat([...field(1, 'dataplane.resource'), ...field(2, value)])
  return Buffer.concat([...field(1, id), ...field(3, Buffer.concat(field(1, entry)))])
}

export function decodeResponse(bytes: Buffer): Answered {
  let at = 0
  let resources = 0
  const texts = new Map<number, string>()
  while (at < bytes.length) {
    const number = varint() >>> 3
    const length = varint()
    if (number === 2) resources++
    else texts.set(number, bytes.toString('latin1', at, at + length))
    at += length
  }
  return { type: texts.get(4) ?? '', version: texts.get(1) ?? '', nonce: texts.get(5) ?? '', resources }

  function varint(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
}

function field(number: number, content: string | Buffer): readonly Buffer[] {
  if (content.length === 0) return []
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  return [Buffer.from([number * 8 + 2, ...varintOf(bytes.length)]), bytes]
}

function varintOf(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varintOf(value >>> 7)]
}

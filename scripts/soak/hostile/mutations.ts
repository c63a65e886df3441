import { lengthDelimited, nested, tag, text, varint } from './protobuf-bytes.ts'
import { frame } from './raw-grpc.ts'

/** Chance with a seed: the same one makes the same bytes. */
export interface Dice {
  pick<T>(all: readonly T[]): T
  chance(share: number): boolean
  whole(below: number): number
}

export function createDice(random: () => number): Dice {
  return {
    pick: <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!,
    chance: (share) => random() < share,
    whole: (below) => Math.floor(random() * below),
  }
}

/** Where in a message there is what breaks decoders. */
export interface Fields {
  readonly typeUrl: number
  /** A repeated string. */
  readonly names: number
  /** A message of which there is one, or many; in it a node's fields are written, whether it has them or not. */
  readonly node: number
  /** A message with an Any in it. */
  readonly holder: number
  readonly anyInHolder: number
}

/** DeltaDiscoveryRequest: its node, and the details of its error. */
export const DELTA_REQUEST: Fields = { typeUrl: 2, names: 3, node: 1, holder: 7, anyInHolder: 3 }
/** DeltaDiscoveryResponse: its resources. */
export const DELTA_RESPONSE: Fields = { typeUrl: 4, names: 6, node: 2, holder: 2, anyInHolder: 2 }

/** Of those that take a whole machine's time to send there are few. */
const HUGE_SHARE = 1 / 400
const HUGE = 10 * 1024 * 1024

/** An honest message, or what no encoder for its schema would write. */
export function mutate(honest: Buffer, fields: Fields, { pick, chance, whole }: Dice): Buffer {
  if (chance(HUGE_SHARE)) return pick([huge, hugeCrowd])()
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
  ])()

  function keep(): Buffer {
    return honest
  }
  function cutOff(): Buffer {
    return honest.subarray(0, whole(honest.length + 1))
  }
  function flipped(): Buffer {
    const bytes = Buffer.from(honest)
    for (let times = 1 + whole(8); times > 0 && bytes.length > 0; times--) bytes[whole(bytes.length)] = whole(256)
    return bytes
  }
  function duplicated(): Buffer {
    return Buffer.concat([honest, honest, honest])
  }
  function lyingLength(): Buffer {
    const length = pick([-1n, 1n << 31n, (1n << 31n) - 1n, 1n << 32n, 1n << 62n, BigInt(honest.length + 1)])
    return Buffer.concat([honest, lengthDelimited(pick([1, 2, 3, 4, 5, 6, 7]), Buffer.from('short'), length)])
  }
  function wrongWireType(): Buffer {
    return Buffer.concat([honest, tag(1 + whole(8), pick([0, 1, 3, 4, 5, 6, 7])), varint(BigInt(whole(1_000_000)))])
  }
  function hugeVarint(): Buffer {
    return Buffer.concat([honest, tag(1 + whole(8), 0), Buffer.alloc(10 + whole(40), 0xff)])
  }
  /** A google.protobuf.Any in an Any in an Any. */
  function deepAny(): Buffer {
    const depth = pick([10, 200, 3_000])
    let any: Buffer = text(1, 'type.googleapis.com/google.protobuf.Any')
    for (let level = 0; level < depth; level++)
      any = Buffer.concat([text(1, 'type.googleapis.com/google.protobuf.Any'), lengthDelimited(2, any)])
    return Buffer.concat([honest, lengthDelimited(fields.holder, lengthDelimited(fields.anyInHolder, any))])
  }
  /** A list in a list in a list, in the metadata of the node. */
  function deepStruct(): Buffer {
    const value = deepList(pick([20, 90, 3_000]))
    const entry = Buffer.concat([text(1, 'dataplane.resource'), lengthDelimited(2, value)])
    return Buffer.concat([
      honest,
      lengthDelimited(fields.node, Buffer.concat([text(1, 'default.web'), lengthDelimited(3, lengthDelimited(1, entry))])),
    ])
  }
  function deepList(depth: number): Buffer {
    let value: Buffer = Buffer.alloc(0)
    for (let level = 0; level < depth; level++) value = lengthDelimited(6, lengthDelimited(1, value))
    return value
  }
  function badUtf8(): Buffer {
    const bad = Buffer.from([0x64, 0xff, 0xfe, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xf8])
    return Buffer.concat([
      honest,
      lengthDelimited(pick([fields.typeUrl, fields.names, 5]), bad),
      lengthDelimited(fields.node, lengthDelimited(1, bad)),
    ])
  }
  function unknownEnum(): Buffer {
    // The null of a google.protobuf.Value is an enum, and so is the protocol of a listening address.
    const value = Buffer.concat([tag(1, 0), varint(BigInt(pick([7, -1, 2 ** 31])))])
    const entry = Buffer.concat([text(1, 'dataplane.resource'), lengthDelimited(2, value)])
    const address = nested(1, 1, Buffer.concat([tag(1, 0), varint(99n)]))
    return Buffer.concat([
      honest,
      lengthDelimited(fields.node, Buffer.concat([lengthDelimited(3, lengthDelimited(1, entry)), lengthDelimited(11, address)])),
    ])
  }
  function garbage(): Buffer {
    return Buffer.from(Array.from({ length: whole(300) }, () => whole(256)))
  }
  function unclosedGroup(): Buffer {
    return Buffer.concat([honest, Buffer.alloc(pick([1, 100, 20_000]), tag(9, 3))])
  }
  function huge(): Buffer {
    return Buffer.concat([honest, text(pick([fields.names, fields.typeUrl, 5]), 'x'.repeat(pick([HUGE, HUGE - 1_000, HUGE / 4])))])
  }
  /** Few bytes each, a great many: names, or elements of the node. */
  function hugeCrowd(): Buffer {
    const bytes = pick([HUGE / 3, HUGE / 6, HUGE / 20])
    const crowd = (one: Buffer) => Buffer.alloc(Math.floor(bytes / one.length) * one.length, one)
    const empty = (field: number) => lengthDelimited(field, Buffer.alloc(0))
    const node = fields.node
    return Buffer.concat([
      honest,
      pick([
        () => crowd(text(fields.names, 'a')),
        () => crowd(empty(node)),
        () => lengthDelimited(node, crowd(empty(pick([3, 9, 11])))),
        () =>
          lengthDelimited(
            node,
            lengthDelimited(3, lengthDelimited(1, Buffer.concat([text(1, 'x'), lengthDelimited(2, lengthDelimited(6, crowd(empty(1))))]))),
          ),
        () => lengthDelimited(fields.holder, crowd(empty(fields.anyInHolder))),
      ])(),
    ])
  }
}

/** In gRPC's frame, which lies now and then. */
export function wrap(message: Buffer, { pick, chance, whole }: Dice): Buffer {
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

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLineDecoder } from './line-decoder.ts'

const textsOf = (decoder: ReturnType<typeof createLineDecoder>, chunks: readonly Uint8Array[]) =>
  chunks.flatMap((chunk) => decoder.push(chunk)).map((line) => (line.kind === 'line' ? line.text : `too long: ${line.bytes}`))

describe('line decoder', () => {
  it('gives the same lines wherever the chunks are cut, in the middle of a character too', () => {
    const text = '{"a":"ä"}\n{"b":"日本語"}\n\n{"c":"🙂"}\r\n'
    const bytes = Buffer.from(text)
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 })), (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge))
        expect(textsOf(createLineDecoder(), chunks)).toEqual(['{"a":"ä"}', '{"b":"日本語"}', '{"c":"🙂"}'])
      }),
    )
  })

  it('keeps a line without an end to itself', () => {
    const decoder = createLineDecoder()
    expect(decoder.push(Buffer.from('{"type":"ADDED","obj'))).toEqual([])
    expect(decoder.pendingBytes()).toBe(20)
  })

  it('says how long a line was that is longer than the limit, keeps none of it, and reads the next', () => {
    const decoder = createLineDecoder(8)
    expect(textsOf(decoder, [Buffer.from('12345'), Buffer.from('67890'), Buffer.from('12\nok\n')])).toEqual(['too long: 12', 'ok'])
    expect(decoder.pendingBytes()).toBe(0)
  })
})

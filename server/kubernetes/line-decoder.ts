/** Takes bytes as they come and gives whole lines, wherever chunks end: a character may be cut in two as well. */
export interface LineDecoder {
  /** Lines ended by this chunk, without their end; empty ones are left out. */
  push(chunk: Uint8Array): readonly DecodedLine[]
  /** Bytes of a line that has no end yet. */
  pendingBytes(): number
}
export type DecodedLine = { readonly kind: 'line'; readonly text: string } | { readonly kind: 'too_long'; readonly bytes: number }

const LINE_END = 0x0a
/** An object may have 1.5 MiB in etcd and several times that as JSON; what is longer is nothing we could use. */
const MAX_LINE_BYTES = 16 << 20

export function createLineDecoder(maxLineBytes = MAX_LINE_BYTES): LineDecoder {
  let parts: Buffer[] = []
  let pending = 0

  function take(part: Buffer) {
    pending += part.length
    // The rest of a line that is too long is counted, not kept.
    if (pending <= maxLineBytes) parts.push(part)
    else parts = []
  }

  function end(): DecodedLine | undefined {
    const bytes = pending
    const kept = parts
    parts = []
    pending = 0
    if (bytes > maxLineBytes) return { kind: 'too_long', bytes }
    const text = (kept.length === 1 ? kept[0]! : Buffer.concat(kept)).toString('utf8').trim()
    return text === '' ? undefined : { kind: 'line', text }
  }

  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const lines: DecodedLine[] = []
      let start = 0
      for (let at = bytes.indexOf(LINE_END); at !== -1; at = bytes.indexOf(LINE_END, start)) {
        take(bytes.subarray(start, at))
        const line = end()
        if (line !== undefined) lines.push(line)
        start = at + 1
      }
      if (start < bytes.length) take(bytes.subarray(start))
      return lines
    },
    pendingBytes: () => pending,
  }
}

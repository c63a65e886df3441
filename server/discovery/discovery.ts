/** Words shared by both variants of discovery. */

export interface NamedVersion {
  readonly name: string
  /** Equal content has an equal version, over streams and restarts. */
  readonly version: string
}

/** The resources of one type, as one peer may see them. */
export interface Present<R extends NamedVersion> {
  /** What a subscription to everything gets. */
  readonly own: ReadonlyMap<string, R>
  /** What a subscription by name gets; may know more than `own`. */
  find(name: string): R | undefined
}

/** What a request says of an earlier response. */
export type Settled = 'ack' | 'nack' | 'stale' | 'none'

/** A type the peer refuses now: what it said, and which resources it may be about (of a state-of-the-world response: those that were new in it). */
export interface Refusal {
  readonly reason: string
  readonly names: readonly string[]
}

/** What a step needs to know besides the message. */
export interface DiscoveryContext<R extends NamedVersion> {
  readonly present: Present<R>
  /** Monotonic ms. */
  readonly now: number
  /** How long refused, unchanged content is held back. */
  readonly nackBackoffMs: number
  /** Whether its driver keeps this content from the peer for now, whatever was asked for: it is as if it had not changed. */
  readonly isHeldBack?: ((name: string, version: string) => boolean) | undefined
  /** Unique on the stream; called once per response made. */
  readonly nextNonce: () => string
}

export const WILDCARD = '*'

/** The version of a set of resources: equal for equal sets, whatever their order. */
export function versionOfSet(resources: Iterable<NamedVersion>): string {
  const lines = [...resources].map(({ name, version }) => `${name}\0${version}`).sort()
  return hashText(lines.join('\n'))
}

/** 53 bits of a mixed multiplicative hash (cyrb53): short, fast, and good enough to tell versions apart. */
export function hashText(text: string): string {
  let low = 0xdeadbeef
  let high = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    low = Math.imul(low ^ unit, 2_654_435_761)
    high = Math.imul(high ^ unit, 1_597_334_677)
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  return (4_294_967_296 * (2_097_151 & high) + (low >>> 0)).toString(36)
}

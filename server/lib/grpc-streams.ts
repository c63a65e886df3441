/**
 * Streams that one connection may have open at once; further ones wait on the peer's side, as HTTP/2 has it, or are refused. A data plane has one
 * or a few and a zone five, so this is room for a proxy that carries many of them over one connection, and no more.
 */
export const MAX_STREAMS_PER_CONNECTION = 100

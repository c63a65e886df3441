import { createSerializer, type inferParserType, parseAsString, parseAsStringLiteral } from 'nuqs/server'

export const streamStates = ['rejecting', 'pending', 'synced'] as const
export type StreamState = (typeof streamStates)[number]
export const variants = ['sotw', 'delta'] as const

/** All of the page's view state: what is listed, and which stream is open beside it. */
export const streamsSearchParams = {
  q: parseAsString.withDefault(''),
  state: parseAsStringLiteral(streamStates),
  variant: parseAsStringLiteral(variants),
  mesh: parseAsString,
  /** `mesh.name` of the data plane whose stream is open. */
  node: parseAsString,
}
export type StreamsView = inferParserType<typeof streamsSearchParams>

/** A link to the page in a given state. */
export const streamsHref = (view: Partial<StreamsView>): string => createSerializer(streamsSearchParams)('/streams', view)

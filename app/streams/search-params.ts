import { parseAsString, parseAsStringLiteral } from 'nuqs/server'

const streamStates = ['rejecting', 'pending', 'synced'] as const
const variants = ['sotw', 'delta'] as const

/** All of the page's view state: what is listed, and which stream is open beside it. */
export const streamsSearchParams = {
  q: parseAsString.withDefault(''),
  state: parseAsStringLiteral(streamStates),
  variant: parseAsStringLiteral(variants),
  mesh: parseAsString,
  /** `mesh.name` of the data plane whose stream is open. */
  node: parseAsString,
  /** The zone that is open. */
  zone: parseAsString,
  /** The zone of an attached control plane that is open, as `<link>/<zone>`. */
  remote: parseAsString,
}

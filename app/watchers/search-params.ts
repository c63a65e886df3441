import { parseAsString, parseAsStringLiteral } from 'nuqs/server'

const states = ['live', 'waiting', 'trouble', 'paused'] as const

/** All of the page's view state: which links are listed, and which is open beside the list. */
export const watchersSearchParams = {
  state: parseAsStringLiteral(states),
  link: parseAsString,
}

import { randomUUID } from 'node:crypto'

/** In [0, 1), evenly spread. For jitter and spreading; not for secrets. */
export type Random = () => number
/** A name that nothing else has or will have. */
export type NewId = () => string

/** The only source of chance. Everything else takes a Random or a NewId as an argument, so that tests decide. */
export const systemRandom: Random = () => Math.random()
export const newRandomId: NewId = () => randomUUID()

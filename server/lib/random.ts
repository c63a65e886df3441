import { randomBytes, randomUUID } from 'node:crypto'

/** In [0, 1), evenly spread. For jitter and spreading; not for secrets. */
export type Random = () => number
/** A name that nothing else has or will have. */
export type NewId = () => string

/** The only source of chance. Everything else takes a Random or a NewId as an argument, so that tests decide. */
export const systemRandom: Random = () => Math.random()
export const newRandomId: NewId = () => randomUUID()
/** So many random bytes in hexadecimal, from the source that keys are made from: nobody can guess them, so tests cannot choose them either. */
export const newSecretHex = (bytes: number): string => randomBytes(bytes).toString('hex')

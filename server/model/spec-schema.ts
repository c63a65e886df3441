import type { ZodType } from 'zod'
import { CoreError } from '../lib/errors.ts'

/** Turns a zod schema into a parser that throws one `invalid` error naming the first few fields at fault. */
export function parserOf<T>(what: string, schema: ZodType<T>): (input: unknown) => T {
  return (input) => {
    const result = schema.safeParse(input)
    if (result.success) return result.data
    const faults = result.error.issues.slice(0, 3).map(({ path, message }) => `${path.length === 0 ? what : path.join('.')}: ${message}`)
    throw new CoreError('invalid', `${what} is not valid: ${faults.join('; ')}`, { details: { faults } })
  }
}

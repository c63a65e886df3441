import { z } from 'zod'
import { parseGoDuration } from './go-duration.ts'

/** A span as policies write it. */
export const duration = z
  .string()
  .refine((text) => (parseGoDuration(text) ?? -1) >= 0, { error: 'must be a duration such as "15s", "250ms" or "1h0m0s"' })
/** The same, for what can't be switched off. */
export const positiveDuration = duration.refine((text) => (parseGoDuration(text) ?? 1) > 0, {
  error: 'must be greater than zero when defined',
})

const targetRef = z.looseObject({ kind: z.string().min(1), name: z.string().exactOptional() })

/** The form all policies share: what they apply to, and what holds there. */
export const policyOf = <S extends z.ZodType>(conf: S) =>
  z
    .looseObject({
      targetRef: targetRef.exactOptional(),
      to: z.array(z.looseObject({ targetRef, default: conf.exactOptional() })).exactOptional(),
      from: z.array(z.looseObject({ targetRef, default: conf.exactOptional() })).exactOptional(),
      rules: z.array(z.looseObject({ default: conf.exactOptional() })).exactOptional(),
    })
    .refine(({ to, from, rules }) => [to, from, rules].some((list) => list !== undefined && list.length > 0), {
      error: "at least one of 'to', 'from' or 'rules' has to be defined",
    })

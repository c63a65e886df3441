import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

const schema = z.object({
  value: z.union([z.number(), z.string(), z.boolean()]),
  /** The change that gave it this value. */
  changeId: z.string(),
  at: z.number(),
  by: z.string(),
})

/** A tunable that somebody changed. Its name is the tunable's key, its version the lock of the next change. */
export type Setting = z.infer<typeof schema>

export const kind: Kind<Setting> = { type: 'Setting', scope: 'global', parseSpec: parserOf('Setting', schema) }

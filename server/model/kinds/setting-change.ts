import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

const value = z.union([z.number(), z.string(), z.boolean()])
const schema = z.object({
  key: z.string(),
  /** Its place among all changes, counted up: times may repeat and jump. */
  sequence: z.int(),
  at: z.number(),
  by: z.string(),
  from: value,
  to: value,
  reason: z.string().nullable(),
  /** The setting's version after it, once known. */
  settingVersion: z.string().nullable(),
  /** When it was in force for all it reaches. */
  effect: z.object({ afterMs: z.number(), sessions: z.number() }).nullable(),
})

/** One edit of a tunable. Its name is the change's id. */
export type SettingChangeRecord = z.infer<typeof schema>

export const kind: Kind<SettingChangeRecord> = { type: 'SettingChange', scope: 'global', parseSpec: parserOf('SettingChange', schema) }

import { z } from 'zod'
import type { Kind } from '../kind.ts'
import type { InstanceInsight } from '../mesh-insight.ts'
import { parserOf } from '../spec-schema.ts'

const schema = z.custom<InstanceInsight>(
  (value) => typeof value === 'object' && value !== null && typeof (value as { generation?: unknown }).generation === 'number',
  { error: 'needs a number `generation`' },
)

/** One per running instance; it has no subject that is stored. */
export const kind: Kind<InstanceInsight> = { type: 'InstanceInsight', scope: 'global', parseSpec: parserOf('InstanceInsight', schema) }

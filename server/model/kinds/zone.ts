import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

/** A control plane that connects to a global one. */
export interface Zone {
  readonly enabled?: boolean
}

const schema = z.looseObject({ enabled: z.boolean().exactOptional() })

export const kind: Kind<Zone> = { type: 'Zone', scope: 'global', parseSpec: parserOf('Zone', schema) }

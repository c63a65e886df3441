import { z } from 'zod'
import type { DataplaneInsight } from '../insight.ts'
import { subjectKeyOf } from '../insight.ts'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

// Written by this process alone, so the shape is what insight.ts says; this guards only the edge (resources from outside).
const schema = z.custom<DataplaneInsight>(
  (value) => typeof value === 'object' && value !== null && Array.isArray((value as { subscriptions?: unknown }).subscriptions),
  { error: 'needs a list `subscriptions`' },
)

export const kind: Kind<DataplaneInsight> = {
  type: 'DataplaneInsight',
  scope: 'mesh',
  ownerOf: subjectKeyOf,
  parseSpec: parserOf('DataplaneInsight', schema),
}

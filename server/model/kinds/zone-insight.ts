import { z } from 'zod'
import type { DataplaneInsight } from '../insight.ts'
import { subjectKeyOf } from '../insight.ts'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

/** The streams of a zone to its global, as the global sees them: the same form as of a data plane. */
type ZoneInsight = Pick<DataplaneInsight, 'subscriptions'>

const schema = z.custom<ZoneInsight>(
  (value) => typeof value === 'object' && value !== null && Array.isArray((value as { subscriptions?: unknown }).subscriptions),
  { error: 'needs a list `subscriptions`' },
)

export const kind: Kind<ZoneInsight> = {
  type: 'ZoneInsight',
  scope: 'global',
  ownerOf: subjectKeyOf,
  parseSpec: parserOf('ZoneInsight', schema),
}

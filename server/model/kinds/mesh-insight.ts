import { z } from 'zod'
import { subjectKeyOf } from '../insight.ts'
import type { Kind } from '../kind.ts'
import type { MeshInsight } from '../mesh-insight.ts'
import { parserOf } from '../spec-schema.ts'

const schema = z.custom<MeshInsight>(
  (value) => typeof value === 'object' && value !== null && typeof (value as { generation?: unknown }).generation === 'number',
  { error: 'needs a number `generation`' },
)

export const kind: Kind<MeshInsight> = {
  type: 'MeshInsight',
  scope: 'global',
  ownerOf: subjectKeyOf,
  parseSpec: parserOf('MeshInsight', schema),
}

import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

const schema = z.object({ certificatePem: z.string(), privateKeyPem: z.string() })

/** A mesh's root of trust. Never leaves the process but for its certificate. */
export type Secret = z.infer<typeof schema>

export const kind: Kind<Secret> = {
  type: 'Secret',
  scope: 'mesh',
  ownerOf: ({ mesh }) => ({ type: 'Mesh', mesh: '', name: mesh }),
  parseSpec: parserOf('Secret', schema),
}

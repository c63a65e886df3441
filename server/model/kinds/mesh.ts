import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

/** A tenant: what lives in a mesh is owned by it and goes with it. */
export interface Mesh {
  readonly mtls?: { readonly enabledBackend: string }
}

const schema = z.looseObject({ mtls: z.looseObject({ enabledBackend: z.string() }).exactOptional() })

export const kind: Kind<Mesh> = { type: 'Mesh', scope: 'global', parseSpec: parserOf('Mesh', schema) }

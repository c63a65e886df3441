import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { duration, policyOf, positiveDuration } from '../policy-schema.ts'
import { parserOf } from '../spec-schema.ts'

const conf = z.looseObject({
  connectionTimeout: positiveDuration.exactOptional(),
  idleTimeout: duration.exactOptional(),
  http: z
    .looseObject({
      requestTimeout: duration.exactOptional(),
      streamIdleTimeout: duration.exactOptional(),
      maxStreamDuration: duration.exactOptional(),
      maxConnectionDuration: duration.exactOptional(),
    })
    .exactOptional(),
})

/** How long connections and requests between services may take. Fields beyond these are kept. */
export const kind: Kind = {
  type: 'MeshTimeout',
  scope: 'mesh',
  ownerOf: ({ mesh }) => ({ type: 'Mesh', mesh: '', name: mesh }),
  parseSpec: parserOf('MeshTimeout', policyOf(conf)),
}

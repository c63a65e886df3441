import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { policyOf, positiveDuration } from '../policy-schema.ts'
import { parserOf } from '../spec-schema.ts'

const conf = z.looseObject({
  connectionLimits: z
    .looseObject({
      maxConnections: z.int().min(1).exactOptional(),
      maxConnectionPools: z.int().min(1).exactOptional(),
      maxPendingRequests: z.int().min(1).exactOptional(),
      maxRetries: z.int().min(1).exactOptional(),
      maxRequests: z.int().min(1).exactOptional(),
    })
    .exactOptional(),
  outlierDetection: z.looseObject({ interval: positiveDuration.exactOptional() }).exactOptional(),
})

/** How much of a service is used at once, and when one of its instances is left out. Fields beyond these are kept. */
export const kind: Kind = {
  type: 'MeshCircuitBreaker',
  scope: 'mesh',
  ownerOf: ({ mesh }) => ({ type: 'Mesh', mesh: '', name: mesh }),
  parseSpec: parserOf('MeshCircuitBreaker', policyOf(conf)),
}

import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { duration, policyOf } from '../policy-schema.ts'
import { parserOf } from '../spec-schema.ts'

const retries = z.looseObject({
  numRetries: z.int().min(1).exactOptional(),
  perTryTimeout: duration.exactOptional(),
  backOff: z.looseObject({ baseInterval: duration.exactOptional(), maxInterval: duration.exactOptional() }).exactOptional(),
})
const conf = z.looseObject({
  tcp: z.looseObject({ maxConnectAttempt: z.int().min(1).exactOptional() }).exactOptional(),
  http: retries.exactOptional(),
  grpc: retries.exactOptional(),
})

/** How calls between services are tried again. Fields beyond these are kept. */
export const kind: Kind = {
  type: 'MeshRetry',
  scope: 'mesh',
  ownerOf: ({ mesh }) => ({ type: 'Mesh', mesh: '', name: mesh }),
  parseSpec: parserOf('MeshRetry', policyOf(conf)),
}

import { z } from 'zod'
import type { Kind } from '../kind.ts'
import { parserOf } from '../spec-schema.ts'

/** The tag that names the service of an inbound or outbound. */
export const SERVICE_TAG = 'kuma.io/service'

const port = z.int().min(1).max(65535)
const tags = z
  .record(z.string(), z.string())
  .refine((all) => (all[SERVICE_TAG] ?? '') !== '', { error: `needs the tag ${SERVICE_TAG} with the name of the service` })

const inbound = z.looseObject({
  port,
  servicePort: port.exactOptional(),
  serviceAddress: z.string().min(1).exactOptional(),
  address: z.string().min(1).exactOptional(),
  state: z.enum(['Ready', 'NotReady', 'Ignored']).exactOptional(),
  tags,
})
const outbound = z.looseObject({ port, address: z.string().min(1).exactOptional(), tags })

const schema = z.looseObject({
  networking: z.looseObject({
    address: z.string().min(1),
    inbound: z.array(inbound).default([]),
    outbound: z.array(outbound).default([]),
  }),
})

/** A proxy or gRPC client of a mesh, as it registers itself: what it listens on and what it calls. Fields of Kuma's REST form beyond these are kept. */
export type Dataplane = z.infer<typeof schema> & {
  /** Written at each registration, so that deregistration can tell its own registration from a later one. */
  readonly session?: { readonly id: string; readonly instance: string }
}
export type Inbound = z.infer<typeof inbound>
export type Outbound = z.infer<typeof outbound>

export const kind: Kind<Dataplane> = {
  type: 'Dataplane',
  scope: 'mesh',
  ownerOf: ({ mesh }) => ({ type: 'Mesh', mesh: '', name: mesh }),
  parseSpec: parserOf('Dataplane', schema),
}

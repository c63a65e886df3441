import { z } from 'zod'

/** The config file: every flag by its name, and first values of tunables. Unknown fields are refused by name. */
export const configFileSchema = z.strictObject({
  host: z.string().exactOptional(),
  port: z.union([z.number(), z.string()]).exactOptional(),
  'xds-port': z.union([z.number(), z.string()]).exactOptional(),
  'kds-port': z.union([z.number(), z.string()]).exactOptional(),
  'data-dir': z.string().exactOptional(),
  store: z.string().exactOptional(),
  mode: z.string().exactOptional(),
  zone: z.string().exactOptional(),
  'global-address': z.string().exactOptional(),
  'global-ca': z.string().exactOptional(),
  'kds-tls-cert': z.string().exactOptional(),
  'kds-tls-key': z.string().exactOptional(),
  /** Of a zone: who is asked before anything from the global is stored. */
  webhook: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }),
      timeoutMs: z.int().min(1).max(60_000).exactOptional(),
      failurePolicy: z.enum(['Fail', 'Ignore']).exactOptional(),
    })
    .exactOptional(),
  demo: z.boolean().exactOptional(),
  'no-ui': z.boolean().exactOptional(),
  dev: z.boolean().exactOptional(),
  'log-level': z.string().exactOptional(),
  settings: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])).exactOptional(),
  /** Made at the first start if they are not there. */
  meshes: z
    .array(z.strictObject({ name: z.string().min(1), mtls: z.strictObject({ enabledBackend: z.string() }).exactOptional() }))
    .exactOptional(),
})

export type ConfigFile = z.infer<typeof configFileSchema>

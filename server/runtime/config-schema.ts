import { z } from 'zod'

const watcherSchema = z.strictObject({
  id: z
    .string()
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/,
      'must be letters, digits and . _ - (at most 100, the first and last a letter or digit)',
    ),
  context: z.string().min(1).exactOptional(),
  apiVersion: z.string().regex(/^([a-z0-9.-]+\/)?v[a-z0-9]+$/, 'must be a version like v1 or apps/v1'),
  kind: z.string().regex(/^[A-Z][A-Za-z0-9]*$/, 'must be a kind as in manifests, like Node'),
  namespace: z.string().min(1).exactOptional(),
  labelSelector: z.string().min(1).exactOptional(),
  fieldSelector: z.string().min(1).exactOptional(),
  freshness: z.strictObject({ path: z.string().min(1), cadenceMs: z.int().min(100).max(2_592_000_000) }).exactOptional(),
})

const kumaSchema = z.strictObject({
  id: watcherSchema.shape.id,
  url: z.url({ protocol: /^https?$/, error: 'must be the address of its API, like http://127.0.0.1:5681' }),
  metricsUrl: z
    .url({ protocol: /^https?$/, error: 'must be the address of its metrics, like http://127.0.0.1:5680/metrics' })
    .exactOptional(),
  tokenFile: z.string().min(1).exactOptional(),
  intervalMs: z.int().min(1_000, 'must be at least 1000').max(3_600_000, 'must be at most 3600000').default(10_000),
})

/** The config file: every flag by its name, and first values of tunables. Unknown fields are refused by name. */
export const configFileSchema = z
  .strictObject({
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
    /** Where Kubernetes clusters are and who we are there; without it, as kubectl does. */
    kubeconfig: z.string().min(1).exactOptional(),
    watchers: z
      .array(watcherSchema)
      .refine((watchers) => new Set(watchers.map(({ id }) => id)).size === watchers.length, 'each id must be there once')
      .exactOptional(),
    /** Running Kuma control planes, read-only. */
    kuma: z
      .array(kumaSchema)
      .refine((attached) => new Set(attached.map(({ id }) => id)).size === attached.length, 'each id must be there once')
      .exactOptional(),
    /** Made at the first start if they are not there. */
    meshes: z
      .array(z.strictObject({ name: z.string().min(1), mtls: z.strictObject({ enabledBackend: z.string() }).exactOptional() }))
      .exactOptional(),
  })
  .refine(({ watchers = [], kuma = [] }) => !kuma.some(({ id }) => watchers.some((watcher) => watcher.id === id)), {
    path: ['kuma'],
    error: 'an id of watchers is there once more: each is the name of one link',
  })

export type ConfigFile = z.infer<typeof configFileSchema>

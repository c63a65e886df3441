import type { Resource, ResourceKey } from './resource.ts'

/**
 * A resource as people write it and the API shows it, in Kuma's REST form: `{ type, mesh?, name, labels?, ... }`, policies with `spec`, older
 * kinds with their fields beside.
 */
export type RestForm = Readonly<Record<string, unknown>> & {
  readonly type: string
  readonly mesh?: string
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
}

const ENVELOPE: ReadonlySet<string> = new Set([
  'type',
  'mesh',
  'name',
  'labels',
  'creationTime',
  'modificationTime',
  'kri',
  'status',
  'version',
])

/** `hasSpec`: whether the kind keeps its content under `spec`. */
export function toRestForm({ key, labels, spec, status, createdAt, modifiedAt, version }: Resource, hasSpec: boolean): RestForm {
  const content = typeof spec === 'object' && spec !== null ? (spec as Readonly<Record<string, unknown>>) : {}
  return {
    type: key.type,
    ...(key.mesh !== '' && { mesh: key.mesh }),
    name: key.name,
    ...(Object.keys(labels).length > 0 && { labels }),
    creationTime: new Date(createdAt).toISOString(),
    modificationTime: new Date(modifiedAt).toISOString(),
    version,
    ...(hasSpec ? { spec: content } : content),
    ...(status !== undefined && { status }),
  }
}

/** The other way. What the store knows itself (times, status, version) is left to it. */
export function fromRestForm(
  form: RestForm,
  hasSpec: boolean,
): { readonly key: ResourceKey; readonly labels: RestForm['labels']; readonly spec: unknown } {
  const { type, mesh = '', name, labels } = form
  const rest = Object.fromEntries(Object.entries(form).filter(([field]) => !ENVELOPE.has(field)))
  return { key: { type, mesh, name }, labels, spec: hasSpec ? (rest['spec'] ?? {}) : rest }
}

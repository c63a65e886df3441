/** What every object has, as far as anyone here looks. Everything in it was written by others: nothing is certain but what `toKubeObject` checked. */
export interface KubeObject {
  readonly kind?: string
  readonly metadata: KubeMetadata
  readonly spec?: unknown
  readonly status?: unknown
}
export interface KubeMetadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly managedFields?: readonly ManagedFieldsEntry[]
}
export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly time?: string
  readonly fieldsV1?: unknown
}

/** `namespace/name`, or the name alone where there are no namespaces: what an object is known by among its kind. */
export function objectNameOf({ namespace, name }: Pick<KubeMetadata, 'namespace' | 'name'>): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** The object, or undefined when it lacks what every object has: it cannot be told apart from others. */
export function toKubeObject(value: unknown): KubeObject | undefined {
  if (!isRecord(value) || !isRecord(value['metadata'])) return undefined
  const { name, resourceVersion } = value['metadata']
  return typeof name === 'string' && name !== '' && typeof resourceVersion === 'string' && resourceVersion !== ''
    ? (value as unknown as KubeObject)
    : undefined
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field's value if it is text; for looking into what others wrote. */
export function textIn(value: unknown, field: string): string | undefined {
  const found = isRecord(value) ? value[field] : undefined
  return typeof found === 'string' ? found : undefined
}
export function numberIn(value: unknown, field: string): number | undefined {
  const found = isRecord(value) ? value[field] : undefined
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}
export function listIn(value: unknown, field: string): readonly unknown[] {
  const found = isRecord(value) ? value[field] : undefined
  return Array.isArray(found) ? found : []
}

/** Epoch ms of a Kubernetes time (RFC 3339, up to microseconds); undefined when it is none. */
export function momentOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

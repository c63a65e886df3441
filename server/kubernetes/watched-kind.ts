/** What one watcher follows, as the configuration has it. */
export interface WatcherConfig {
  /** The link's id. */
  readonly id: string
  /** Of the kubeconfig; undefined: its current one. */
  readonly context?: string | undefined
  /** `v1`, `apps/v1` */
  readonly apiVersion: string
  readonly kind: string
  /** Undefined: all. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Where in each object the moment is that says how fresh it is, and how often it should move. */
  readonly freshness?: { readonly path: string; readonly cadenceMs: number } | undefined
}

/** A kind as the API server knows it. */
export interface WatchedKind {
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** As in paths and RBAC rules: `nodes`. */
  readonly plural: string
  readonly isNamespaced: boolean
}

export function groupOf(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/')
  return slash === -1 ? { group: '', version: apiVersion } : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

/** Where the API server lists the kinds of a group and version. */
export function discoveryPath(apiVersion: string): string {
  const { group, version } = groupOf(apiVersion)
  return group === '' ? `/api/${encodeURIComponent(version)}` : `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`
}

/** Where the objects of a kind are. */
export function collectionPath({ group, version, plural, isNamespaced }: WatchedKind, namespace: string | undefined): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${isNamespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${plural}`
}

/** In one line for people. */
export function subjectOf({ apiVersion, kind, namespace, labelSelector, fieldSelector, context }: WatcherConfig): string {
  const parts = [
    `${apiVersion} ${kind}`,
    namespace === undefined ? undefined : `namespace ${namespace}`,
    labelSelector === undefined ? undefined : `label ${labelSelector}`,
    fieldSelector === undefined ? undefined : `field ${fieldSelector}`,
    context === undefined ? undefined : `context ${context}`,
  ]
  return parts.filter((part) => part !== undefined).join(' · ')
}

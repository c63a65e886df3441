import type { WatchedKind } from './watched-kind.ts'

export interface AccessRequest {
  readonly kind: WatchedKind
  /** Undefined: all namespaces, or a kind that is in none. */
  readonly namespace: string | undefined
  /** Of the refusal: it names who we are. */
  readonly message: string
}

/** The manifest that grants what was refused: to be pasted into `kubectl apply -f -` as it is. */
export function accessRule({ kind, namespace, message }: AccessRequest): string {
  const { group, plural, isNamespaced } = kind
  const isLocal = isNamespaced && namespace !== undefined
  const name = `tidewatch-${plural}${group === '' ? '' : `.${group}`}`
  const metadata = `metadata: { name: ${quoted(name)}${isLocal ? `, namespace: ${quoted(namespace)}` : ''} }`
  const role = isLocal ? 'Role' : 'ClusterRole'
  return [
    `# kubectl apply -f - (may list and watch ${plural}${isLocal ? ` in namespace ${namespace}` : ''})`,
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${role}`,
    metadata,
    `rules: [{ apiGroups: [${quoted(group)}], resources: [${quoted(plural)}], verbs: ["list", "watch"] }]`,
    '---',
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${role}Binding`,
    metadata,
    `roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ${role}, name: ${quoted(name)} }`,
    `subjects: [${subjectOf(/User "([^"]+)"/.exec(message)?.[1])}]`,
    '',
  ].join('\n')
}

function subjectOf(user: string | undefined): string {
  const account = /^system:serviceaccount:([^:]+):(.+)$/.exec(user ?? '')
  if (account !== null) return `{ kind: ServiceAccount, namespace: ${quoted(account[1]!)}, name: ${quoted(account[2]!)} }`
  return `{ apiGroup: rbac.authorization.k8s.io, kind: User, name: ${quoted(user ?? "the watcher's user")} }`
}

/** YAML takes JSON's strings. */
function quoted(text: string): string {
  return JSON.stringify(text)
}

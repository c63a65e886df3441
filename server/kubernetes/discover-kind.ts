import { LinkFailure } from '../link/link-failure.ts'
import { statusOf, toRefusal, retryAfterOf } from './answer-failure.ts'
import type { GetOptions, KubeClient } from './kube-client.ts'
import { isRecord, listIn, textIn } from './kube-object.ts'
import { nearestOf } from './nearest.ts'
import { discoveryPath, groupOf, type WatchedKind } from './watched-kind.ts'

/** What the configuration names. */
export interface NamedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
}

const NAMED = 40

/** Asks the server what it calls a kind. Rejects with a LinkFailure: `not_found` names the kinds, versions or groups there are. */
export async function discoverKind(client: KubeClient, named: NamedKind, options: GetOptions): Promise<WatchedKind> {
  const { apiVersion, kind, namespace } = named
  const { group, version } = groupOf(apiVersion)
  const answer = await client.get(discoveryPath(apiVersion), options)
  const body = await answer.text()
  if (answer.code === 404) throw missingVersion(named, await groupsOf(client, options))
  if (answer.code !== 200) {
    const guess = { group, version, kind, plural: `${kind.toLowerCase()}s`, isNamespaced: namespace !== undefined }
    throw toRefusal({
      status: statusOf(answer.code, body),
      retryAfterMs: retryAfterOf(answer.header('retry-after')),
      asked: { kind: guess, namespace, context: client.endpoint.context },
    })
  }
  const kinds = kindsOf(body, client.endpoint.server)
  const found = kinds.find((each) => each.kind === kind)
  if (found === undefined) throw missingKind(named, kinds)
  if (!found.isWatchable)
    throw new LinkFailure('not_found', `${apiVersion} ${kind} cannot be watched`, {
      hint: `The API server does not offer list and watch of ${apiVersion} ${kind}. Of ${apiVersion} these can be watched: ${namesOf(kinds)}.`,
    })
  return { group, version, kind, plural: found.plural, isNamespaced: found.isNamespaced }
}

interface ServedKind {
  readonly kind: string
  readonly plural: string
  readonly isNamespaced: boolean
  readonly isWatchable: boolean
}

function kindsOf(body: string, server: string): readonly ServedKind[] {
  return listIn(parsed(body, server), 'resources').flatMap((entry): ServedKind[] => {
    const [plural, kind] = [textIn(entry, 'name'), textIn(entry, 'kind')]
    if (plural === undefined || kind === undefined || plural.includes('/')) return []
    const verbs = listIn(entry, 'verbs')
    return [
      {
        kind,
        plural,
        isNamespaced: isRecord(entry) && entry['namespaced'] === true,
        isWatchable: verbs.includes('list') && verbs.includes('watch'),
      },
    ]
  })
}

function parsed(body: string, server: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new LinkFailure('protocol', `${server} answered with what is no JSON: ${body.slice(0, 80)}`)
  }
}

/** Group and version, as in `apps/v1`, of all groups; empty when the server does not say. */
async function groupsOf(client: KubeClient, options: GetOptions): Promise<readonly string[]> {
  const answer = await client.get('/apis', options)
  const body = await answer.text()
  if (answer.code !== 200) return []
  const groups = listIn(parsed(body, client.endpoint.server), 'groups')
  return ['v1', ...groups.flatMap((group) => listIn(group, 'versions').flatMap((version) => textIn(version, 'groupVersion') ?? []))]
}

function missingVersion({ apiVersion, kind }: NamedKind, served: readonly string[]): LinkFailure {
  const { group } = groupOf(apiVersion)
  const sameGroup = served.filter((each) => group !== '' && groupOf(each).group === group)
  const near = nearestOf(apiVersion, served)
  const says =
    sameGroup.length > 0
      ? `Of this group it serves ${sameGroup.join(', ')}.`
      : near.length > 0
        ? `Near names it serves: ${near.join(', ')}.`
        : served.length > 0
          ? `It serves ${namedSome(served)}.`
          : ''
  return new LinkFailure('not_found', `the API server does not serve ${apiVersion}`, {
    hint: `Install the CustomResourceDefinition of ${kind} (group ${group === '' ? 'core' : group}), or change the watcher's apiVersion. ${says}`.trim(),
  })
}

function missingKind({ apiVersion, kind }: NamedKind, kinds: readonly ServedKind[]): LinkFailure {
  const watchable = kinds.filter(({ isWatchable }) => isWatchable)
  const byPlural = watchable.find(({ plural }) => plural === kind.toLowerCase())
  const near =
    byPlural === undefined
      ? nearestOf(
          kind,
          watchable.map((each) => each.kind),
        )
      : [byPlural.kind]
  return new LinkFailure('not_found', `${apiVersion} has no kind ${kind}`, {
    hint: `${near.length > 0 ? `Did you mean ${near.join(' or ')}? ` : ''}${apiVersion} has ${namesOf(watchable)}. If ${kind} is a custom kind, install its CustomResourceDefinition.`,
  })
}

function namesOf(kinds: readonly ServedKind[]): string {
  const names = kinds.filter(({ isWatchable }) => isWatchable).map(({ kind }) => kind)
  return names.length === 0 ? 'none' : namedSome(names)
}
function namedSome(names: readonly string[]): string {
  return names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more` : names.join(', ')
}

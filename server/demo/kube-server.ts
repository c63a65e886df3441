import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Clock, Timer } from '../lib/clock.ts'
import {
  badRequest,
  expiredEvent,
  expiredToken,
  forbidden,
  fromToken,
  type KubeRefusal,
  throttled,
  tooLarge,
  toToken,
  unauthorized,
  unknownPath,
} from './kube-answers.ts'
import { keyOf, type KubeStore, type StoredObject } from './kube-store.ts'

/** The HTTP of a simulated API server: discovery, list by pages, streaming list, watch. Reads only. */
export interface KubeServer {
  /** Its trouble from now on. Open watches end, so that those who watch meet it. */
  setTrouble(trouble: KubeTrouble | undefined): Promise<void>
  /** Sends what has changed to those who watch. */
  flush(): void
  bookmark(): void
  /** As when the process behind it is replaced: nothing of what is open goes on. */
  cutAll(): void
  close(): void
}

export type KubeTrouble =
  | { readonly kind: 'down' }
  /** Asked to end: no new connections; what is watched goes on for so long, then ends cleanly. */
  | { readonly kind: 'stopping'; readonly holdMs: number }
  /** Each watch ends cleanly as soon as it was answered. */
  | { readonly kind: 'closing' }
  | { readonly kind: 'forbidden'; readonly plural: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly kind: 'silent' }
  | { readonly kind: 'slow'; readonly delayMs: number }

export interface KubeServerDeps {
  readonly clock: Clock
  readonly store: KubeStore
}
export interface KubeServerOptions {
  readonly port: number
  /** Who asks with it: the user's name by the bearer token. */
  readonly tokens: Readonly<Record<string, string>>
  readonly kinds: readonly ServedKind[]
  /** PEM. Absent: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
}
export interface ServedKind {
  /** '' for the core group. */
  readonly group: string
  /** One for all kinds of a group; default v1. */
  readonly version?: string
  readonly kind: string
  readonly plural: string
  readonly isNamespaced: boolean
}

interface Watch {
  readonly kind: ServedKind
  readonly namespace: string | undefined
  readonly response: ServerResponse
  sentUpTo: number
}

const HOST = '127.0.0.1'
const GONE_AFTER_MS = 1_000
const DEFAULT_WATCH_SECONDS = 300
const END_OF_LIST = { 'k8s.io/initial-events-end': 'true' }

export async function createKubeServer({ clock, store }: KubeServerDeps, options: KubeServerOptions): Promise<KubeServer> {
  const { port, tokens, kinds, tls } = options
  const watches = new Set<Watch>()
  const silenced = new Set<ServerResponse>()
  let trouble: KubeTrouble | undefined
  let holding: Timer | undefined
  const server = create()
  await listen()

  return {
    async setTrouble(next) {
      trouble = next
      holding?.cancel()
      if (next?.kind === 'down' || next?.kind === 'stopping') server.close()
      else await listen()
      if (next?.kind === 'down') server.closeAllConnections()
      for (const response of silenced) response.destroy()
      silenced.clear()
      if (next?.kind === 'silent') return
      if (next === undefined) return
      const meetIt = () => {
        for (const watch of watches) {
          if (next.kind === 'gone') expire(watch)
          else if (next.kind !== 'forbidden' || next.plural === watch.kind.plural) watch.response.end()
        }
      }
      if (next.kind === 'stopping') holding = clock.at(clock.monotonic() + next.holdMs, meetIt)
      else meetIt()
    },
    flush() {
      if (trouble?.kind !== 'silent') for (const watch of watches) send(watch)
    },
    bookmark() {
      if (trouble?.kind === 'silent') return
      for (const watch of watches) {
        send(watch)
        // To one from the future nothing is said, until it is past.
        if (watch.sentUpTo > store.version()) continue
        line(watch, { type: 'BOOKMARK', object: bookmarkOf(watch.kind) })
      }
    },
    cutAll: () => server.closeAllConnections(),
    close() {
      holding?.cancel()
      server.close()
      server.closeAllConnections()
    },
  }

  function create(): Server {
    const listener = (request: IncomingMessage, response: ServerResponse) => {
      // What ends after it was asked to end takes its connection with it.
      response.on('finish', () => server.listening || request.socket.end())
      answer(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy()
        else refuse(response, badRequest((error as Error).message))
      })
    }
    return tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  }

  async function listen(): Promise<void> {
    if (!server.listening) await once(server.listen(port, HOST), 'listening')
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (trouble?.kind === 'silent') {
      silenced.add(response)
      response.on('close', () => silenced.delete(response))
      return
    }
    if (trouble?.kind === 'slow') await clock.sleep(trouble.delayMs)
    if (trouble?.kind === 'throttled') return refuse(response, throttled(trouble.retryAfterSeconds))
    const url = new URL(request.url ?? '/', `http://${HOST}`)
    const user = tokens[request.headers.authorization?.replace(/^Bearer /, '') ?? '']
    if (user === undefined) return refuse(response, unauthorized)
    const discovered = discovery(url.pathname)
    if (discovered !== undefined) return json(response, discovered)
    const asked = collectionOf(url.pathname)
    if (asked === undefined || request.method !== 'GET') return refuse(response, unknownPath)
    const isWatch = ['1', 'true'].includes(url.searchParams.get('watch') ?? '')
    const { group, plural } = asked.kind
    if (trouble?.kind === 'forbidden' && trouble.plural === plural)
      return refuse(response, forbidden({ user, verb: isWatch ? 'watch' : 'list', group, plural }))
    for (const selector of ['labelSelector', 'fieldSelector'])
      if (url.searchParams.has(selector)) return refuse(response, badRequest(`simulated: ${selector} is not supported here`))
    const version = url.searchParams.get('resourceVersion') ?? ''
    if (!/^\d*$/.test(version)) return refuse(response, badRequest(`resourceVersion: Invalid value: "${version}"`))
    if (isWatch) startWatch(asked, url.searchParams, response)
    else list(asked, url.searchParams, response)
  }

  function discovery(path: string): object | undefined {
    const groups = new Map(kinds.filter(({ group }) => group !== '').map((kind) => [kind.group, apiVersionOf(kind)]))
    if (path === '/version') return { major: '1', minor: '37', gitVersion: 'v1.37.0-simulated', platform: 'simulated' }
    if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] }
    if (path === '/apis') {
      const toGroup = ([name, groupVersion]: readonly [string, string]) => {
        const version = { groupVersion, version: groupVersion.replace(/^.*\//, '') }
        return { name, versions: [version], preferredVersion: version }
      }
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...groups].map(toGroup) }
    }
    const named = kinds.find((kind) => path === rootOf(kind))
    if (named === undefined) return undefined
    const resources = kinds
      .filter(({ group }) => group === named.group)
      .map(({ kind, plural, isNamespaced }) => ({
        name: plural,
        singularName: kind.toLowerCase(),
        namespaced: isNamespaced,
        kind,
        verbs: ['list', 'watch'],
      }))
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf(named), resources }
  }

  function collectionOf(path: string) {
    for (const kind of kinds) {
      const root = rootOf(kind)
      if (path === `${root}/${kind.plural}`) return { kind, namespace: undefined }
      const namespace = new RegExp(`^${root}/namespaces/([^/]+)/${kind.plural}$`).exec(path)?.[1]
      if (kind.isNamespaced && namespace !== undefined) return { kind, namespace: decodeURIComponent(namespace) }
    }
    return undefined
  }

  function list({ kind, namespace }: Pick<Watch, 'kind' | 'namespace'>, query: URLSearchParams, response: ServerResponse) {
    const asked = Number(query.get('resourceVersion') ?? 0)
    if (asked > store.version()) return refuse(response, tooLarge(asked, store.version()))
    const text = query.get('continue')
    const token = text === null ? undefined : fromToken(text)
    if (text !== null && token === undefined) return refuse(response, badRequest('continue key is not valid'))
    const version = token?.version ?? store.version()
    const all = token === undefined ? store.list(kind.plural) : store.snapshot(kind.plural, version)
    if (all === undefined) return refuse(response, expiredToken(token?.start ?? ''))
    // Tokens name the last one by what tells it apart in what was asked for, as the real ones do.
    const placeOf = (object: StoredObject) => (namespace === undefined && kind.isNamespaced ? keyOf(object) : object.metadata.name)
    const rest = all.filter(
      (object) =>
        (namespace === undefined || object.metadata.namespace === namespace) && (token === undefined || placeOf(object) > token.start),
    )
    const limit = Number(query.get('limit') ?? 0) || rest.length
    const items = rest.slice(0, limit)
    const last = items.at(-1)
    const hasMore = rest.length > items.length && last !== undefined
    if (hasMore && token === undefined) store.keepSnapshot(kind.plural)
    const metadata = {
      resourceVersion: String(version),
      ...(hasMore && { continue: toToken(version, placeOf(last)), remainingItemCount: rest.length - items.length }),
    }
    json(response, { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata, items })
  }

  function startWatch({ kind, namespace }: Pick<Watch, 'kind' | 'namespace'>, query: URLSearchParams, response: ServerResponse) {
    const asked = Number(query.get('resourceVersion') ?? 0)
    const watch: Watch = { kind, namespace, response, sentUpTo: asked }
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }).flushHeaders()
    if (asked === 0) {
      watch.sentUpTo = store.version()
      for (const object of store.list(kind.plural))
        if (namespace === undefined || object.metadata.namespace === namespace) line(watch, { type: 'ADDED', object: whole(kind, object) })
      if (query.get('sendInitialEvents') === 'true') line(watch, { type: 'BOOKMARK', object: bookmarkOf(kind, END_OF_LIST) })
    }
    watches.add(watch)
    const seconds = Number(query.get('timeoutSeconds') ?? 0) || DEFAULT_WATCH_SECONDS
    const timers = [
      clock.at(clock.monotonic() + seconds * 1000, () => {
        // Through a connection that is half open no end comes either.
        if (trouble?.kind === 'silent') silenced.add(response)
        else response.end()
      }),
    ]
    if (trouble?.kind === 'gone') timers.push(clock.at(clock.monotonic() + GONE_AFTER_MS, () => expire(watch)))
    response.on('close', () => {
      watches.delete(watch)
      for (const timer of timers) timer.cancel()
    })
    send(watch)
    if (trouble?.kind === 'closing') response.end()
  }

  function send(watch: Watch) {
    const changes = store.since(watch.kind.plural, watch.sentUpTo)
    if (changes === 'expired') return expire(watch)
    for (const { type, object, version } of changes) {
      watch.sentUpTo = version
      if (watch.namespace === undefined || object.metadata.namespace === watch.namespace)
        line(watch, { type, object: whole(watch.kind, object) })
    }
  }

  function expire(watch: Watch) {
    line(watch, expiredEvent(watch.sentUpTo, store.version()))
    watch.response.end()
  }

  function line({ response }: Watch, event: object) {
    if (!response.writableEnded) response.write(`${JSON.stringify(event)}\n`)
  }

  function bookmarkOf(kind: ServedKind, annotations?: object) {
    const metadata = { resourceVersion: String(store.version()), ...(annotations !== undefined && { annotations }) }
    return { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata }
  }
}

const apiVersionOf = ({ group, version = 'v1' }: ServedKind) => (group === '' ? version : `${group}/${version}`)
const rootOf = (kind: ServedKind) => `${kind.group === '' ? '/api' : '/apis'}/${apiVersionOf(kind)}`
const whole = (kind: ServedKind, object: object) => ({ kind: kind.kind, apiVersion: apiVersionOf(kind), ...object })

function json(response: ServerResponse, value: unknown) {
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' }).end(`${JSON.stringify(value)}\n`)
}

function refuse(response: ServerResponse, { code, contentType, body, retryAfterSeconds }: KubeRefusal) {
  response
    .writeHead(code, {
      'cache-control': 'no-cache, private',
      'content-type': contentType,
      ...((code === 403 || contentType.startsWith('text/plain')) && { 'x-content-type-options': 'nosniff' }),
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    })
    .end(body)
}

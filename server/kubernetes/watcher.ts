import { type Clock, yieldToEventLoop } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import type { Tunable } from '../lib/tunable.ts'
import type { LinkSpec } from '../link/connector.ts'
import type { ObservedInsights } from '../model/observed-insight.ts'
import { createKubeClient } from './kube-client.ts'
import type { KubeContext } from './kube-contexts.ts'
import { type NodeLeases, nodeOfLease } from './node-leases.ts'
import { parseObjectPath } from './object-path.ts'
import { createReflector, type Entry } from './reflector.ts'
import { createWatchConnector } from './watch-connector.ts'
import { subjectOf, type WatcherConfig } from './watched-kind.ts'
import { changedAt, nextObjectFacts, type ObjectFacts, watchedInsight, watchedKey } from './watched-insight.ts'

export interface WatcherDeps {
  readonly clock: Clock
  readonly context: KubeContext
  readonly insights: ObservedInsights
  /** Shared by the watchers of one context. */
  readonly nodeLeases: NodeLeases
  readonly serverTimeoutMs: Tunable<number>
  readonly idleTimeoutMs: Tunable<number>
}

const SHOWN_AT_ONCE = 256
const BLIND = 'Its watcher does not get through, so how fresh it is cannot be told: this is what was seen last.'

/** One entry of `watchers:`: follows a kind, and lists what it sees beside our own insights. */
export interface Watcher {
  readonly link: LinkSpec
  /**
   * While its link does not get through, how fresh its objects are cannot be told: they are `unknown`, not stale. Resolves when all
   * of them say so.
   */
  setBlind(isBlind: boolean): Promise<void>
}

/** Throws `invalid` for a bad path. */
export function createWatcher(deps: WatcherDeps, config: WatcherConfig): Watcher {
  const { clock, context, insights, nodeLeases } = deps
  const { id, kind, freshness } = config
  const path = freshness === undefined ? undefined : parseObjectPath(freshness.path)
  if (freshness !== undefined && path === undefined)
    throw new CoreError(
      'invalid',
      `watcher "${id}": freshness.path "${freshness.path}" is no path like .status.lastRun or .status.conditions[?(@.type=="Ready")].lastTransitionTime`,
    )
  const rule = { at: path === undefined ? undefined : { path, text: freshness!.path, cadenceMs: freshness!.cadenceMs } }
  const isNode = kind === 'Node' && config.apiVersion === 'v1' && path === undefined
  const isLease = kind === 'Lease' && config.apiVersion.startsWith('coordination.k8s.io/') && path === undefined

  let blind = false
  const reflector = createReflector<ObjectFacts>(clock, {
    digest: (object, before) => nextObjectFacts(object, before, { now: clock.now(), named: config, rule }),
  })
  reflector.onChange((change) => {
    const { name } = change
    if (change.kind === 'set') show(name, change.entry)
    else insights.remove(watchedKey({ watcher: id, kind, name }))
    tellNode(name, change.kind === 'set' ? change.entry.value : undefined)
  })
  /** Of a lease that is gone, or not seen now, its node is judged by what else tells. */
  function tellNode(name: string, lease: ObjectFacts | undefined) {
    const node = isLease ? nodeOfLease(name) : undefined
    if (node === undefined) return
    nodeLeases.set(
      node,
      lease === undefined || blind ? undefined : { heartbeatAt: lease.heartbeatAt, heartbeatMs: lease.signs.heartbeatMs },
    )
  }

  if (isNode)
    nodeLeases.onChange((node) => {
      const entry = reflector.get(node)
      if (entry !== undefined) show(node, entry)
    })

  function show(name: string, { version, value }: Entry<ObjectFacts>) {
    const insight = watchedInsight({
      watcher: id,
      kind,
      name,
      version,
      facts: value,
      other: isNode ? nodeLeases.heartbeat(name) : undefined,
    })
    insights.set(blind ? { ...insight, heartbeatAt: 0, note: BLIND } : insight)
  }

  async function setBlind(isBlind: boolean) {
    if (isBlind === blind) return
    blind = isBlind
    let done = 0
    for (const [name, entry] of reflector.entries()) {
      if (blind !== isBlind) return
      if (reflector.get(name) === entry) {
        show(name, entry)
        tellNode(name, entry.value)
      }
      if (++done % SHOWN_AT_ONCE === 0) await yieldToEventLoop()
    }
  }

  const link: LinkSpec = {
    id,
    kind: 'watch',
    endpoint: context.server,
    subject: subjectOf({ ...config, context: config.context ?? context.name }),
    connector: createWatchConnector(
      {
        clock,
        client: createKubeClient(context, clock),
        writer: reflector.writer,
        changedAt: (object) => changedAt(object, clock.now()),
        serverTimeoutMs: deps.serverTimeoutMs,
        idleTimeoutMs: deps.idleTimeoutMs,
      },
      config,
    ),
  }
  return { link, setBlind }
}

import type { Clock } from '../lib/clock.ts'
import { CoreError } from '../lib/errors.ts'
import type { Random } from '../lib/random.ts'
import { createTopic } from '../lib/topic.ts'
import type { Tunable } from '../lib/tunable.ts'
import {
  type LinkCounts,
  type LinkDetail,
  type LinkHealth,
  linkHealths,
  type LinkRow,
  type LinkStateKind,
  linkStateKinds,
} from '../model/link-row.ts'
import type { LinkSpec } from './connector.ts'
import { createEndpointGate, type EndpointGate } from './endpoint-gate.ts'
import type { GatePolicy } from './endpoint-gate-state.ts'
import { createLink, type Link, type LinkTuning } from './link.ts'
import type { LinkObserver } from './link-attempt.ts'
import type { LogSink } from './link-log.ts'

/** All links of this process, and the herd guards of their endpoints. */
export interface LinkRegistry {
  /** Starts it, at once if the registry runs. Throws `invalid` (id or endpoint) and `already_exists`. */
  add(spec: LinkSpec): void
  /** Stops it and forgets it; no such link: nothing. */
  remove(id: string): Promise<void>
  has(id: string): boolean
  /** By id. */
  list(): readonly LinkRow[]
  /** The row alone; undefined when there is no such link. */
  row(id: string): LinkRow | undefined
  /** Throws `not_found`, as do the three below, which throw `unavailable` when the process stops. */
  get(id: string): LinkDetail
  retryNow(id: string, by: string): void
  pause(id: string, by: string, reason?: string): void
  resume(id: string, by: string): void
  counts(): LinkCounts
  /** Told the id when the state, health or policy of a link has changed, or it came or went. */
  onChange(listener: (id: string) => void, signal: AbortSignal): void
  /** Whether there is something new since then to show of each link that was not told as a change: counts, rates. */
  revisions(): ReadonlyMap<string, { readonly revision: number; readonly isMoving: boolean }>
  states(): readonly { readonly id: string; readonly state: LinkStateKind; readonly health: LinkHealth }[]
  /** Runs all links; stops them when the signal aborts, and resolves when all have ended. */
  run(signal: AbortSignal): Promise<void>
}

export interface LinkRegistryDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: LogSink
  readonly observer: LinkObserver
  readonly tuningOf: (id: string) => LinkTuning
  readonly gatePolicy: Tunable<GatePolicy>
}

const ID = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9])?$/

export function createLinkRegistry({ clock, random, log, observer, tuningOf, gatePolicy }: LinkRegistryDeps): LinkRegistry {
  const links = new Map<string, { readonly link: Link; readonly gate: SharedGate }>()
  const gates = new Map<string, SharedGate>()
  const topic = createTopic<string>()
  let phase: 'new' | 'running' | 'stopped' = 'new'

  interface SharedGate {
    readonly gate: EndpointGate
    readonly links: Set<string>
  }

  function gateOf(endpoint: string): SharedGate {
    return gates.getOrInsertComputed(endpoint, () => {
      const members = new Set<string>()
      const onChange = () => {
        for (const id of members) if (links.get(id)?.link.state() === 'waiting') topic.publish(id)
      }
      return { gate: createEndpointGate(endpoint, { clock, policy: gatePolicy, onChange }), links: members }
    })
  }

  function linkOf(id: string): Link {
    const found = links.get(id)
    if (found !== undefined) return found.link
    const known = [...links.keys()].sort().slice(0, 20)
    const message =
      known.length === 0 ? `there is no link "${id}": none is configured` : `there is no link "${id}"; there are: ${known.join(', ')}`
    throw new CoreError('not_found', message, { details: { id, known } })
  }

  function steered(id: string): Link {
    const link = linkOf(id)
    if (phase === 'running') return link
    throw new CoreError('unavailable', phase === 'new' ? 'links are not started yet' : 'Tidewatch is stopping')
  }

  return {
    add(spec) {
      if (!ID.test(spec.id))
        throw new CoreError('invalid', `"${spec.id}" cannot be the id of a link: use up to 100 letters, digits, and . _ - / between them`)
      if (links.has(spec.id)) throw new CoreError('already_exists', `there is a link "${spec.id}" already; ids are unique`)
      const shared = gateOf(toEndpoint(spec.endpoint))
      const link = createLink(spec, {
        clock,
        random,
        log,
        observer,
        gate: shared.gate,
        tuning: tuningOf(spec.id),
        onChange: () => topic.publish(spec.id),
      })
      links.set(spec.id, { link, gate: shared })
      shared.links.add(spec.id)
      if (phase === 'running') link.start()
      topic.publish(spec.id)
    },
    async remove(id) {
      const found = links.get(id)
      if (found === undefined) return
      links.delete(id)
      found.gate.links.delete(id)
      if (found.gate.links.size === 0) {
        gates.delete(found.gate.gate.endpoint)
        found.gate.gate.close()
      }
      topic.publish(id)
      await found.link.stop()
    },
    has: (id) => links.has(id),
    list: () => sorted().map(({ link }) => link.row()),
    row: (id) => links.get(id)?.link.row(),
    get: (id) => linkOf(id).detail(),
    retryNow: (id, by) => steered(id).retryNow(by),
    pause: (id, by, reason) => steered(id).pause(by, reason),
    resume: (id, by) => steered(id).resume(by),
    counts: () => countsOf(sorted().map(({ link }) => link)),
    onChange: (listener, signal) => topic.subscribe(listener, signal),
    revisions: () => new Map(links.values().map(({ link }) => [link.id, { revision: link.revision(), isMoving: link.isMoving() }])),
    states: () => sorted().map(({ link }) => ({ id: link.id, state: link.state(), health: link.health() })),
    async run(signal) {
      phase = 'running'
      for (const { link } of links.values()) link.start()
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      phase = 'stopped'
      await Promise.all(links.values().map(({ link }) => link.stop()))
      for (const { gate } of gates.values()) gate.close()
    },
  }

  function sorted() {
    return [...links.values()].sort((a, b) => (a.link.id < b.link.id ? -1 : 1))
  }
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/** What a herd guard is shared by: scheme, host and port. */
function toEndpoint(address: string): string {
  const url = URL.parse(address)
  if (url === null || url.host === '')
    throw new CoreError('invalid', `"${address}" is no address of an endpoint; it would be like https://10.0.0.1:6443`)
  const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : url.port
  return `${url.protocol}//${url.hostname}${port === undefined ? '' : `:${port}`}`
}

function countsOf(links: readonly Link[]): LinkCounts {
  const byState = zeroes(linkStateKinds)
  const byHealth = zeroes(linkHealths)
  let worst: LinkCounts['worst'] = null
  for (const link of links) {
    byState[link.state()]++
    byHealth[link.health()]++
    if (link.health() !== 'degraded' && link.health() !== 'unhealthy') continue
    const { id, health, withoutSuccessSince, lastError } = link.row()
    const candidate = { id, health, withoutSuccessSince: withoutSuccessSince ?? 0, lastError }
    if (worst === null || isWorse(candidate, worst)) worst = candidate
  }
  return { total: links.length, byState, byHealth, worst }
}

function isWorse(a: NonNullable<LinkCounts['worst']>, b: NonNullable<LinkCounts['worst']>): boolean {
  if (a.health !== b.health) return a.health === 'degraded'
  return a.withoutSuccessSince < b.withoutSuccessSince
}

function zeroes<K extends string>(names: readonly K[]): Record<K, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<K, number>
}

import type { LinkRow } from '../../server/model/link-row.ts'
import { formatSpan } from '../format.ts'
import { steadyAge } from '../insights/steady-age.ts'

/** What the page says of a link's state: pure. */

export type LinkTone = 'good' | 'warn' | 'quiet' | 'info'

/** The badge: what it does now, counting down while it waits. */
export function stateText({ state, stateSince, probing, waitingFor, pausedBy }: LinkRow, now: number): string {
  switch (state.kind) {
    case 'idle':
      return 'not started'
    case 'connecting':
      return state.attempt === undefined ? 'connecting' : `attempt ${state.attempt}, connecting`
    case 'syncing':
      return 'reading everything'
    case 'live':
      return `live for ${formatSpan(now - stateSince)}`
    case 'waiting': {
      if (waitingFor !== null) return `waiting for the probe of ${hostOf(waitingFor.endpoint)}`
      const attempt = probing ? `probe ${state.attempt ?? 1}` : `attempt ${state.attempt ?? 1}`
      return state.until === undefined ? attempt : `${attempt}, next in ${formatSpan(Math.max(0, state.until - now))}`
    }
    case 'paused':
      return `paused by ${pausedBy ?? 'somebody'}`
    case 'stopped':
      return 'stopped'
  }
}

/** Under the badge: why, or how fresh what came last is. */
export function stateNote(link: LinkRow, now: number): string {
  const { state, waitingFor, lastError, lastEventAt, lastBookmarkAt, pauseReason, stateSince } = link
  if (state.kind === 'paused')
    return [`for ${formatSpan(now - stateSince)}`, pauseReason === null ? '' : `“${pauseReason}”`].filter((part) => part !== '').join(', ')
  if (waitingFor !== null) {
    const { prober, probeAt } = waitingFor
    const next = probeAt === null ? '' : `, next in ${formatSpan(Math.max(0, probeAt - now))}`
    return prober === null ? 'its endpoint is down' : `${prober} probes${next}`
  }
  if (state.kind !== 'live' && lastError !== null) return `${lastError.class.replace('_', ' ')}: ${lastError.message}`
  const [what, at] = newest(lastEventAt, lastBookmarkAt)
  return at === null ? 'nothing has come yet' : `${what} ${steadyAge(now - at)} ago`
}

/** Of what it does now; how well it is, is told beside it. */
export function toneOf({ state }: Pick<LinkRow, 'state'>): LinkTone {
  if (state.kind === 'paused' || state.kind === 'stopped' || state.kind === 'idle') return 'quiet'
  if (state.kind === 'live') return 'good'
  return state.kind === 'waiting' ? 'warn' : 'info'
}

export function isInTrouble({ health }: Pick<LinkRow, 'health'>): boolean {
  return health === 'degraded' || health === 'unhealthy'
}

export type LinkFilter = 'live' | 'waiting' | 'trouble' | 'paused'

export function fits(link: LinkRow, filter: LinkFilter | null): boolean {
  switch (filter) {
    case null:
      return true
    case 'live':
      return link.state.kind === 'live'
    case 'waiting':
      return link.state.kind === 'waiting' || link.state.kind === 'connecting' || link.state.kind === 'syncing'
    case 'trouble':
      return isInTrouble(link)
    case 'paused':
      return link.state.kind === 'paused'
  }
}

/** `start 1 · gone 2`; null when there is none. */
export function countsText(counts: Readonly<Record<string, number>>): string | null {
  const parts = Object.entries(counts).filter(([, count]) => count > 0)
  return parts.length === 0 ? null : parts.map(([name, count]) => `${name.replace('_', ' ')} ${count}`).join(' · ')
}

export function hostOf(endpoint: string): string {
  return endpoint.replace(/^[a-z]+:\/\//, '')
}

function newest(eventAt: number | null, bookmarkAt: number | null): readonly [what: string, at: number | null] {
  if (bookmarkAt !== null && (eventAt === null || bookmarkAt > eventAt)) return ['sign of life', bookmarkAt]
  return ['event', eventAt]
}

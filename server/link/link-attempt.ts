import type { EndpointGate } from './endpoint-gate.ts'
import type { LinkAttempt } from './connector.ts'
import { isEndpointDown } from './link-failure.ts'
import type { LinkLog } from './link-log.ts'
import type { LinkStatistics } from './link-statistics.ts'

/** Where what happens is counted; `link` is the link's id. */
export interface LinkObserver {
  request(link: string, verb: string, code: string): void
  reconnect(link: string, cause: string): void
  relist(link: string, reason: string): void
  event(link: string, kind: string): void
  eventLag(link: string, seconds: number): void
}

/** One run of a connector, as its link keeps it. */
export interface Attempt {
  readonly controller: AbortController
  readonly number: number
  events: number
  /** The endpoint has answered it. */
  answered: boolean
}

export interface AttemptEnds {
  readonly link: string
  readonly statistics: LinkStatistics
  readonly observer: LinkObserver
  readonly log: LinkLog
  readonly gate: Pick<EndpointGate, 'listTurn'>
  /** Whether the link still runs this attempt: what one that was ended still says is not heard. */
  isCurrent(attempt: Attempt): boolean
  onAnswered(attempt: Attempt): void
  onProgress(progress: 'syncing' | 'live'): void
  /** Something was counted. */
  onCounted(): void
}

/** What a connector reports on. */
export function createLinkAttempt(attempt: Attempt, ends: AttemptEnds): LinkAttempt {
  const { link, statistics, observer, log, gate } = ends
  const { signal } = attempt.controller
  const heard =
    <A extends readonly unknown[]>(hear: (...args: A) => void) =>
    (...args: A) => {
      if (!ends.isCurrent(attempt)) return
      hear(...args)
      ends.onCounted()
    }
  const progress = (reached: 'syncing' | 'live') =>
    heard(() => {
      ends.onAnswered(attempt)
      ends.onProgress(reached)
    })

  return {
    signal,
    number: attempt.number,
    syncing: progress('syncing'),
    live: progress('live'),
    event: heard((kind, { lagMs } = {}) => {
      attempt.events++
      statistics.event(lagMs, kind === 'bookmark')
      observer.event(link, kind)
      if (lagMs !== undefined) observer.eventLag(link, lagMs / 1000)
    }),
    bookmark: heard(() => {
      statistics.event(undefined, true)
      observer.event(link, 'bookmark')
    }),
    request: heard((verb, code) => {
      if (typeof code === 'number' && !isEndpointDown(code)) ends.onAnswered(attempt)
      observer.request(link, verb, statistics.request(verb, String(code)))
    }),
    relist: heard((reason) => {
      statistics.relist(reason)
      observer.relist(link, reason)
    }),
    bad: heard((what) => statistics.bad(what)),
    objects: heard((count) => statistics.objects(count)),
    note: heard((text) => log.write('info', text)),
    listTurn: () => gate.listTurn(signal),
  }
}

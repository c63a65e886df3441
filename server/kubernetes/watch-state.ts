import { assertNever } from '../lib/assert-never.ts'
import type { LinkRelistReason } from '../link/connector.ts'
import { type KubeStatus, isExpired, isFutureVersion } from './kube-status.ts'

/**
 * What a watcher does next. Pure. It remembers over attempts, because a link asks for one attempt after the other:
 *
 *     nothing known ── list (a streaming one while the server has it, else pages) ──► copy at a version ── watch from it ──┐
 *          ▲                                                                             ▲      event or bookmark: on      │
 *          │ 410 in any shape; a version from the future for the third time              └──────────────────────────────────┤
 *          └────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * Versions are opaque: they are kept and sent back, never compared for order.
 */
export interface WatchMemory {
  /** Where to go on from; undefined: everything must be read. */
  readonly version: string | undefined
  /** Why everything must be read, while it must. */
  readonly relistReason: LinkRelistReason
  /** 410s since a watch was last well: something arrived, or it was accepted and stayed. */
  readonly goneInARow: number
  readonly futureInARow: number
  /**
   * The stream broke, so that its server may have been restored from a backup since. A watch from a version that is in its future is
   * accepted and stays silent until the server gets there: asked first, it says so.
   */
  readonly isUnsure: boolean
  /** The server has refused a streaming list: pages from here on. */
  readonly pagesOnly: boolean
}

export const NOTHING_KNOWN: WatchMemory = {
  version: undefined,
  relistReason: 'start',
  goneInARow: 0,
  futureInARow: 0,
  isUnsure: false,
  pagesOnly: false,
}

export type WatchAction =
  | { readonly kind: 'stream_list'; readonly reason: LinkRelistReason }
  | { readonly kind: 'page_list'; readonly reason: LinkRelistReason }
  /** Ask whether the server has reached this version. */
  | { readonly kind: 'check'; readonly version: string }
  | { readonly kind: 'watch'; readonly version: string }

/** Where an answer or event came from. */
export type WatchPhase = WatchAction['kind']

export type WatchOutcome =
  /** Everything is read, at this version ('' or undefined: the server gave none). */
  | { readonly kind: 'listed'; readonly version: string | undefined }
  | { readonly kind: 'event'; readonly version: string }
  | { readonly kind: 'bookmark'; readonly version: string | undefined }
  /** A refusal, as HTTP status or as ERROR event. */
  | { readonly kind: 'refused'; readonly phase: WatchPhase; readonly status: KubeStatus }
  /** The server does not do streaming lists, whatever it said. */
  | { readonly kind: 'no_streaming' }
  /** The server has reached our version. */
  | { readonly kind: 'checked' }
  /** A watch was accepted and has not been refused since. */
  | { readonly kind: 'well' }
  | { readonly kind: 'ended' }
  /** The attempt is over in any other way. */
  | { readonly kind: 'broken' }

/**
 * - `go_on`      the stream goes on, or the next action follows at once
 * - `end`        the attempt is over, cleanly
 * - `fail`       over with the failure of what was refused; the link waits, and not less than `retryAfterMs`
 * - `no_version` over: the server's list has no version to go on from
 */
export type WatchNext =
  | { readonly kind: 'go_on' | 'end' | 'no_version' }
  | { readonly kind: 'fail'; readonly as: 'gone' | 'future_version' | 'refused' }

export interface WatchStep {
  readonly memory: WatchMemory
  readonly next: WatchNext
}

/** How often a version from the future is tried again: a replica that lags reaches it, a restored store does not. */
export const FUTURE_TRIES = 2

export function nextWatchAction({ version, relistReason, isUnsure, pagesOnly }: WatchMemory): WatchAction {
  if (version !== undefined) return { kind: isUnsure ? 'check' : 'watch', version }
  return { kind: pagesOnly ? 'page_list' : 'stream_list', reason: relistReason }
}

export function nextWatchStep(memory: WatchMemory, outcome: WatchOutcome): WatchStep {
  switch (outcome.kind) {
    case 'listed':
      if (outcome.version === undefined || outcome.version === '')
        return { memory: { ...memory, version: undefined, relistReason: 'no_version' }, next: { kind: 'no_version' } }
      return { memory: { ...memory, version: outcome.version, futureInARow: 0, isUnsure: false }, next: GO_ON }
    case 'event':
      return { memory: { ...memory, version: outcome.version, goneInARow: 0, futureInARow: 0 }, next: GO_ON }
    case 'bookmark':
      return { memory: { ...memory, version: outcome.version ?? memory.version, goneInARow: 0, futureInARow: 0 }, next: GO_ON }
    case 'refused':
      return refused(memory, outcome.phase, outcome.status)
    case 'no_streaming':
      return { memory: { ...memory, pagesOnly: true }, next: GO_ON }
    case 'checked':
      return { memory: { ...memory, futureInARow: 0, isUnsure: false }, next: GO_ON }
    case 'broken':
      return { memory: { ...memory, isUnsure: true }, next: GO_ON }
    case 'well':
      return { memory: { ...memory, goneInARow: 0, futureInARow: 0 }, next: GO_ON }
    case 'ended':
      return { memory: { ...memory, goneInARow: 0, futureInARow: 0 }, next: { kind: 'end' } }
    default:
      return assertNever(outcome)
  }
}

const GO_ON: WatchNext = { kind: 'go_on' }

function refused(memory: WatchMemory, phase: WatchPhase, status: KubeStatus): WatchStep {
  if (isFutureVersion(status)) {
    const futureInARow = memory.futureInARow + 1
    if (memory.version === undefined || futureInARow <= FUTURE_TRIES)
      return { memory: { ...memory, futureInARow }, next: { kind: 'fail', as: 'future_version' } }
    return { memory: { ...memory, version: undefined, relistReason: 'future_version', futureInARow: 0 }, next: GO_ON }
  }
  if (isExpired(status)) {
    const goneInARow = memory.goneInARow + 1
    // Once, everything is read again at once; when that leads here again, with backoff.
    const next: WatchNext = goneInARow === 1 ? GO_ON : { kind: 'fail', as: 'gone' }
    return { memory: { ...memory, version: undefined, relistReason: 'gone', goneInARow }, next }
  }
  // The kind is gone, and what comes back by its name is another one.
  if (status.code === 404) return { memory: { ...memory, version: undefined, relistReason: 'gone' }, next: { kind: 'fail', as: 'refused' } }
  if (phase === 'stream_list' && (status.code === 400 || status.code === 422))
    return { memory: { ...memory, pagesOnly: true }, next: GO_ON }
  return { memory, next: { kind: 'fail', as: 'refused' } }
}

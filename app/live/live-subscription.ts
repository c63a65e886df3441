import { toKeyString } from '../../server/model/resource.ts'
import type { Key, LiveFrame } from '../../server/model/views.ts'

export interface LiveSubscriptionDeps {
  /** Opens one; returns how to end it. `onEnd`: it is over, and nobody here ended it. */
  open(scope: LiveScope, on: LiveListeners): () => void
  onFrame(frame: LiveFrame, scope: readonly Key[]): void
  onLost(): void
  /** Calls back later, once. Returns how to call it off. */
  later(run: () => void, ms: number): () => void
}

export interface LiveScope {
  readonly counters: true | 'glance'
  readonly insights?: Key[]
}

export interface LiveListeners {
  onFrame(frame: LiveFrame): void
  onLost(): void
  onEnd(): void
}

/** The one subscription of a tab: to the counters, all or at a glance, and to the rows on screen. */
export interface LiveSubscription {
  /** All counters, until what it returns is called: somebody shows them. */
  followCounters(): () => void
  /** The rows on screen from now on: told to the server when they have settled. */
  setRows(keys: readonly Key[]): void
  start(): void
  stop(): void
}

/** Scrolling on asks for nothing, resting on a place soon does; from one page with counters to the next changes nothing. */
const SETTLE_MS = 120
/** Opened again after the server has ended it: it stops, or has too many. */
const REOPEN_MS = 1_000

/**
 *   idle -- start --> open -- ended by the server --> waiting REOPEN_MS --> open
 *                      \___ another scope, settled ___> open with the new scope, then the old one ends
 */
export function createLiveSubscription(deps: LiveSubscriptionDeps): LiveSubscription {
  let isStarted = false
  let rows: readonly Key[] = []
  /** Who shows all counters. */
  let followers = 0
  let end: (() => void) | undefined
  let cancelTimer: (() => void) | undefined

  function open() {
    cancelTimer?.()
    cancelTimer = undefined
    const before = end
    const scope = rows
    let isMine = true
    const endNew = deps.open(
      { counters: followers > 0 ? true : 'glance', ...(scope.length > 0 && { insights: [...scope] }) },
      {
        onFrame(frame) {
          if (isMine) deps.onFrame(frame, scope)
        },
        onLost() {
          if (isMine) deps.onLost()
        },
        onEnd() {
          if (!isMine) return
          isMine = false
          end = undefined
          deps.onLost()
          cancelTimer?.()
          cancelTimer = deps.later(open, REOPEN_MS)
        },
      },
    )
    end = () => {
      isMine = false
      endNew()
    }
    before?.()
  }

  /** With another scope, once that has settled. */
  function openSoon() {
    // While it waits to be opened again, it will be with the scope of then.
    if (!isStarted || end === undefined) return
    cancelTimer?.()
    cancelTimer = deps.later(open, SETTLE_MS)
  }

  return {
    followCounters() {
      if (++followers === 1) openSoon()
      return () => {
        if (--followers === 0) openSoon()
      }
    },
    setRows(keys) {
      if (isSameList(keys, rows)) return
      rows = keys
      openSoon()
    },
    start() {
      if (isStarted) return
      isStarted = true
      open()
    },
    stop() {
      isStarted = false
      cancelTimer?.()
      cancelTimer = undefined
      end?.()
      end = undefined
    },
  }
}

function isSameList(a: readonly Key[], b: readonly Key[]): boolean {
  return a.length === b.length && a.every((key, index) => toKeyString(key) === toKeyString(b[index]!))
}

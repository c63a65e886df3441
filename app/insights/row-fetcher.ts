import { toKeyString, type KeyString } from '../../server/model/resource.ts'
import type { InsightRow, Key } from '../../server/model/views.ts'

export interface RowFetcherDeps {
  /** One request; at most `MAX_ROWS` keys. Rows that no longer exist are left out of the answer. */
  fetchRows(keys: readonly Key[], signal: AbortSignal): Promise<readonly InsightRow[]>
  /** Whether the row is known already: loaded, or known to be gone. */
  isKnown(key: Key): boolean
  /** The answer to a request: what came, and what was asked for and is not there. */
  onRows(rows: readonly InsightRow[], missing: readonly Key[]): void
  /** A request failed for good; its keys stay wanted and are asked for again with the next `want`. */
  onError(error: unknown): void
  /** Calls back later, once. Returns how to call it off. */
  later(run: () => void, ms: number): () => void
}

export interface RowFetcher {
  /** The keys on screen now, and some around them. Requests for rows that were scrolled past are cancelled. */
  want(keys: readonly Key[]): void
  /** Cancels everything. */
  stop(): void
}

export const MAX_ROWS = 200
/** Flinging through a long list asks for nothing; resting on a place asks soon. */
const SETTLE_MS = 60
/** Rows that were asked for in vain are asked for again after this long. */
const RETRY_MS = 2000

/**
 *   want(keys) -- unknown, not asked for --> waiting SETTLE_MS --> one request of at most MAX_ROWS --> onRows
 *                 asked for, none of it wanted any more ---------> aborted
 */
export function createRowFetcher(deps: RowFetcherDeps): RowFetcher {
  let wanted: readonly Key[] = []
  let cancelTimer: (() => void) | undefined
  const requests = new Set<{ readonly keys: ReadonlySet<KeyString>; readonly abort: AbortController }>()

  return {
    want(keys) {
      wanted = keys
      const now = new Set(keys.map(toKeyString))
      for (const { keys: asked, abort } of requests) if (asked.isDisjointFrom(now)) abort.abort()
      schedule(SETTLE_MS)
    },
    stop() {
      wanted = []
      cancelTimer?.()
      for (const { abort } of requests) abort.abort()
    },
  }

  function schedule(ms: number) {
    cancelTimer?.()
    cancelTimer = unasked().length === 0 ? undefined : deps.later(ask, ms)
  }

  function ask() {
    cancelTimer = undefined
    const keys = unasked()
    for (let from = 0; from < keys.length; from += MAX_ROWS) void request(keys.slice(from, from + MAX_ROWS))
  }

  async function request(keys: readonly Key[]) {
    const entry = { keys: new Set(keys.map(toKeyString)), abort: new AbortController() }
    requests.add(entry)
    try {
      const rows = await deps.fetchRows(keys, entry.abort.signal)
      if (entry.abort.signal.aborted) return
      const came = new Set(rows.map(({ key }) => toKeyString(key)))
      deps.onRows(
        rows,
        keys.filter((key) => !came.has(toKeyString(key))),
      )
    } catch (error) {
      if (entry.abort.signal.aborted) return
      deps.onError(error)
      requests.delete(entry)
      schedule(RETRY_MS)
    } finally {
      requests.delete(entry)
    }
  }

  function unasked(): readonly Key[] {
    const asked = [...requests].filter(({ abort }) => !abort.signal.aborted)
    return wanted.filter((key) => !deps.isKnown(key) && !asked.some(({ keys }) => keys.has(toKeyString(key))))
  }
}

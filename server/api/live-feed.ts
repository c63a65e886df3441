import type { ResourceKey } from '../model/resource.ts'
import type { LiveFrame } from '../model/views.ts'

/** The live side of the API: any number of subscriptions over one listener on the board. */
export interface LiveFeed {
  /**
   * Frames of one scope until the signal aborts or the feed closes: a snapshot first, then what changes in it. Throws
   * `exhausted` when there are too many subscriptions, `unavailable` when the process is stopping.
   */
  subscribe(scope: LiveScope, reader: LiveReader): AsyncGenerator<LiveFrame, void, undefined>
  /** Subscriptions now open. */
  size(): number
  /** Ends every subscription; later ones are refused. */
  close(): void
}

export interface LiveScope {
  readonly counters?: boolean | undefined
  /** The rows on screen. */
  readonly insights?: readonly ResourceKey[] | undefined
}

export interface LiveReader {
  /** Bytes that wait for the reader in this process. */
  bufferedAmount(): number
  readonly signal: AbortSignal | undefined
}

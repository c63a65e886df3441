import type { Logger } from 'pino'
import type { ControlPlane } from '../runtime/control-plane.ts'
import type { LiveFeed } from './live-feed.ts'

/** What every procedure is called with. */
export interface ApiContext {
  readonly controlPlane: ControlPlane
  readonly live: LiveFeed
  readonly caller: Caller
  readonly logger: Logger
}

/** Who calls, and how much of what was sent to them still waits in this process. */
export interface Caller {
  /** As it is written into the history of settings. */
  readonly name: string
  /** Stands for the connection the call came by. */
  readonly connection: object
  /** Bytes handed to the caller's connection that the system did not take yet; 0 in process. */
  bufferedAmount(): number
}

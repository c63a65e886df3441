import type { Subscription } from '../model/insight.ts'
import type { ResourceKey } from '../model/resource.ts'

/** Where streams report what they see of their subject. Implemented by the sinks; xds and kds know only this. */
export interface StatusPort {
  /** A subject has connected: its first status is flushed at once, with retry. */
  open(subject: ResourceKey, initial: Subscription): StatusSession
}

export interface StatusSession {
  /** The newest state replaces the one before; a later flush takes it. Cheap: called for every ACK. */
  update(next: Subscription): void
  /** The subject has disconnected: the last flush, with retry and a deadline of its own, not tied to the stream. Resolves when done or given up; never rejects. */
  close(last: Subscription): Promise<void>
}

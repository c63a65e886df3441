import type { Subscription } from './insight.ts'

/** A zone of an attached control plane, as that one knows it. Read-only: nothing here can be sent again by us. */
export interface RemoteZoneRow {
  /** The link it was seen through. */
  readonly source: string
  readonly name: string
  /** Switched on over there; null when it does not say. */
  readonly enabled: boolean | null
  readonly online: boolean
  /** Epoch ms; null when it never connected. */
  readonly connectedAt: number | null
  /** Epoch ms; null while online, or when it never connected. */
  readonly offlineSince: number | null
  /** What it runs, as it says; null when it does not. */
  readonly agent: string | null
  /** Oldest first; the open one, if any, is last. */
  readonly subscriptions: readonly Subscription[]
  /** Data planes of it that the attached control plane lists, and how many of them are online. */
  readonly dataplanes: { readonly total: number; readonly online: number }
  /** Intervals that decide how late what is told of it is: its own, as far as it says, and those of who holds its stream. */
  readonly settings: readonly RemoteSetting[]
}

/** A value of somebody else's configuration, read at their boot: what an operator sets over there to change it. */
export interface RemoteSetting {
  /** Whose it is, in words: `zone zone-1`, `the global`. */
  readonly of: string
  /** As their configuration names it. */
  readonly path: string
  /** As they write it: `10s`; the default where they did not say. */
  readonly value: string
  readonly isAssumed: boolean
  readonly variable: string
  readonly helm: string
  /** What it does to what is shown, in one sentence. */
  readonly effect: string
  /** What is shown now is as late as it is because of it. */
  readonly isCause: boolean
}

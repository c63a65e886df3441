import type { LinkFactGroup, LinkKind } from '../model/link-row.ts'

/** What a link connects with: a Kubernetes list + watch, a KDS stream, a poll. It knows the protocol; the link knows when to try. */
export interface Connector {
  /**
   * One attempt: connect, report progress on `attempt`, stay until the stream ends. Resolves when it ended cleanly (the link
   * connects again at once if it lived long enough, with backoff if not); rejects with a LinkFailure when it did not. Anything else
   * that is thrown counts as `protocol`. When `attempt.signal` aborts it settles promptly and reports nothing more. Attempts never
   * overlap, so that what a connector remembers between them (a version to resume from) has one writer.
   *
   * Not its business: waiting, counting failures, telling operators. Its business: limits on silence (class `idle`) and on the time
   * to connect; credentials refreshed once before `unauthorized`; a relist at once when the last list succeeded, else class `gone`.
   */
  connect(attempt: LinkAttempt): Promise<void>
}

/** What an attempt tells its link. Cheap enough to be called for each event. */
export interface LinkAttempt {
  readonly signal: AbortSignal
  /** 1 at the first after a start, a resume or a reset of the backoff. */
  readonly number: number
  /** Connected; what there is, is being read. Also from live, when everything is read again. */
  syncing(): void
  /** Up to date; from here on changes arrive. This is what counts as success. */
  live(): void
  /** Something came: `added`, `modified`, `deleted`, `message`, ... `lagMs`: since it happened over there, if anything says. */
  event(kind: LinkEventKind, info?: { readonly lagMs?: number | undefined }): void
  /** A sign of life without content. */
  bookmark(): void
  /** A request was answered: its verb and status code, or an error word (`ECONNREFUSED`) when nothing answered. */
  request(verb: LinkVerb, code: number | string): void
  /** Everything is read (again): at the start, after 410, after a restore, ... */
  relist(reason: LinkRelistReason): void
  /** A line or object that cannot be read and is skipped, by name. */
  bad(what: string): void
  /** How many objects its copy has now. */
  objects(count: number): void
  /** Something worth a line in the link's log. */
  note(text: string): void
  /**
   * A turn for an expensive read (a list): few at a time to one endpoint. Rejects with the signal's reason when the attempt is
   * aborted; call what it resolves with when the read is over (more than once is harmless).
   */
  listTurn(): Promise<() => void>
}

/** Bounded sets: they become labels of metrics. */
export type LinkEventKind = 'added' | 'modified' | 'deleted' | 'bookmark' | 'error' | 'message'
export type LinkVerb = 'list' | 'watch' | 'connect' | 'poll'
export type LinkRelistReason = 'start' | 'gone' | 'future_version' | 'no_version' | 'requested' | 'inconsistent'

export interface LinkSpec {
  /** Unique in the process, at most 100 characters: letters, digits and `. _ - /`. */
  readonly id: string
  readonly kind: LinkKind
  /** An address with scheme, host and port (a path is ignored): links to one of these share its herd guard. */
  readonly endpoint: string
  /** What it follows, in one line for people. */
  readonly subject: string
  readonly connector: Connector
  /** What the peer says of itself, for its detail. Cheap. */
  readonly facts?: () => readonly LinkFactGroup[]
}

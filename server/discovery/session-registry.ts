import type { SessionRow } from '../model/views.ts'

/** The live inbound streams of this process, xDS and KDS alike. */
export interface SessionRegistry {
  add(session: LiveSession): void
  remove(id: string): void
  /** Tells listeners that a session's types changed. */
  touched(id: string): void
  list(): readonly SessionRow[]
  get(id: string): SessionRow | undefined
  /** Sends everything (or one type) again, at once. Throws `not_found`, naming the id. */
  resync(id: string, type?: string): void
  size(protocol?: 'xds' | 'kds'): number
  onChange(listener: (id: string) => void, signal: AbortSignal): void
}

export interface LiveSession {
  readonly id: string
  row(): SessionRow
  resync(type?: string): void
}

import { CoreError } from '../lib/errors.ts'
import { createTopic } from '../lib/topic.ts'
import type { SessionRow } from '../model/views.ts'

/** The live inbound streams of this process, xDS and KDS alike. */
export interface SessionRegistry {
  add(session: LiveSession): void
  remove(id: string): void
  /** Tells listeners that a session's types changed. */
  touched(id: string): void
  /** Of one protocol, or all. */
  list(protocol?: 'xds' | 'kds'): readonly SessionRow[]
  get(id: string): SessionRow | undefined
  /** Sends everything (or one type) again, at once. Throws `not_found`, naming the id. */
  resync(id: string, type?: string): void
  size(protocol?: 'xds' | 'kds'): number
  onChange(listener: (id: string) => void, signal: AbortSignal): void
}

export interface LiveSession {
  readonly id: string
  readonly protocol: 'xds' | 'kds'
  row(): SessionRow
  resync(type?: string): void
}

export function createSessionRegistry(): SessionRegistry {
  const sessions = new Map<string, LiveSession>()
  const topic = createTopic<string>()
  let xds = 0
  return {
    add(session) {
      sessions.set(session.id, session)
      if (session.protocol === 'xds') xds++
      topic.publish(session.id)
    },
    remove(id) {
      const session = sessions.get(id)
      if (session === undefined) return
      sessions.delete(id)
      if (session.protocol === 'xds') xds--
      topic.publish(id)
    },
    touched: (id) => topic.publish(id),
    list: (protocol) =>
      [...sessions.values()].filter((session) => protocol === undefined || session.protocol === protocol).map((session) => session.row()),
    get: (id) => sessions.get(id)?.row(),
    resync(id, type) {
      const session = sessions.get(id)
      if (session === undefined)
        throw new CoreError('not_found', `there is no session ${id}: it may have ended; sessions.list names those that are live`, {
          details: { id },
        })
      session.resync(type)
    },
    size: (protocol) => (protocol === undefined ? sessions.size : protocol === 'xds' ? xds : sessions.size - xds),
    onChange: (listener, signal) => topic.subscribe(listener, signal),
  }
}

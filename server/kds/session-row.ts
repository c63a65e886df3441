import type { TypeStatus } from '../model/insight.ts'
import type { SessionRow, SessionTypeRow } from '../model/views.ts'

/** One direction of a connection between control planes, as pages show it. */
export function toSessionRow(
  about: Omit<SessionRow, 'protocol' | 'variant' | 'types'>,
  types: Readonly<Record<string, TypeStatus>>,
  unanswered: ReadonlySet<string>,
): SessionRow {
  return {
    ...about,
    protocol: 'kds',
    variant: 'delta',
    types: Object.entries(types).map(([type, { sent, acked, nacked, rejection, lastAt, recovered }]): SessionTypeRow => ({
      type,
      sent,
      acked,
      nacked,
      status: rejection !== undefined ? 'rejected' : unanswered.has(type) ? 'pending' : 'synced',
      error: rejection?.reason ?? null,
      lastAt,
      rejection: rejection ?? null,
      recovered: recovered ?? null,
    })),
  }
}

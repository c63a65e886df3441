import type { SessionTypeRow } from '../../server/model/views.ts'

const words = { synced: 'in sync', pending: 'not answered yet', rejected: 'refused' } as const

/** One resource type of a stream: its state by shape as well as by hue, and how long ago it last moved. */
export function TypeMark({ type, age }: { readonly type: SessionTypeRow; readonly age: string }) {
  return (
    <span
      className="inline-flex items-center gap-1 whitespace-nowrap"
      title={`${type.type} ${words[type.status]}: sent ${type.sent}, ACK ${type.acked}, NACK ${type.nacked}`}
    >
      <StatusShape status={type.status} />
      <span className={type.status === 'rejected' ? 'font-semibold text-stale-ink' : 'text-muted'}>{age}</span>
      <span className="sr-only">
        {type.type} {words[type.status]}
      </span>
    </span>
  )
}

export function StatusShape({ status }: { readonly status: SessionTypeRow['status'] }) {
  return (
    <svg aria-hidden viewBox="0 0 12 12" className="inline-block size-2.5 shrink-0">
      {status === 'synced' && <rect x="1.5" y="1.5" width="9" height="9" rx="2" className="fill-fresh" />}
      {status === 'pending' && <path d="M6 0.5 11.5 6 6 11.5 0.5 6Z" className="fill-late" />}
      {status === 'rejected' && <circle cx="6" cy="6" r="5" className="fill-stale" />}
    </svg>
  )
}

import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Subscription } from '../../server/model/insight.ts'
import type { SessionRow } from '../../server/model/views.ts'
import { formatAge } from '../format.ts'
import { Time } from '../time.tsx'
import { Button } from '../ui/button.tsx'
import { RefusedResources } from './refused-resources.tsx'
import { Fact, History, TypeItem } from './stream-detail.tsx'
import type { ZoneStreams } from './zones.ts'

export interface ZoneDetailProps {
  readonly zone: ZoneStreams
  readonly now: number
  /** As the store has them; undefined while they are read. */
  readonly subscriptions: readonly Subscription[] | undefined
  readonly insightLink: ReactNode
  readonly note: ReactNode
  readonly isResyncing: boolean
  readonly onResync: (id: string, type?: string) => void
  readonly onClose: () => void
}

const titles = { down: 'From the global to the zone', up: 'From the zone to the global' } as const

/** A zone with both directions: what was sent and taken, what is refused and when it is sent again, and its connections before. */
export function ZoneDetail({ zone, now, subscriptions, insightLink, note, isResyncing, onResync, onClose }: ZoneDetailProps) {
  const health = Math.max(0, ...(subscriptions ?? []).map(({ healthAt }) => healthAt ?? 0))
  return (
    <section
      aria-label={`Zone ${zone.name}`}
      className="live-values min-w-0 rounded-xl border border-line bg-panel px-4 py-3.5 shadow-panel"
    >
      <header className="mb-2.5 flex items-start gap-2">
        <h2 className="min-w-0 flex-1 font-semibold break-words">Zone {zone.name}</h2>
        <button
          type="button"
          aria-label="Close detail"
          onClick={onClose}
          className="-my-0.5 -mr-1.5 flex size-6 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-soft hover:text-ink"
        >
          <X aria-hidden className="size-4" />
        </button>
      </header>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        <Fact label="runs">{zone.agent ?? <span className="text-muted">it does not say</span>}</Fact>
        <Fact label="said it lives">{health === 0 ? <span className="text-muted">not yet</span> : <Time at={health} />}</Fact>
        <Fact label="insight">{insightLink}</Fact>
      </dl>
      <p role="status" className="mt-2 text-xs text-muted empty:hidden">
        {note}
      </p>
      <div className="mt-3 grid grid-cols-1 gap-4 md:grid-cols-2">
        {(['down', 'up'] as const).map((direction) => (
          <Direction
            key={direction}
            title={titles[direction]}
            stream={zone[direction]}
            now={now}
            isResyncing={isResyncing}
            // What comes from the other side is the other side's to send again.
            onResync={direction === 'down' ? onResync : undefined}
          />
        ))}
      </div>
      <h3 className="mt-4 font-semibold">Connections</h3>
      <History subscriptions={subscriptions} now={now} />
    </section>
  )
}

interface DirectionProps {
  readonly title: string
  readonly stream: SessionRow | undefined
  readonly now: number
  readonly isResyncing: boolean
  readonly onResync: ((id: string, type?: string) => void) | undefined
}

function Direction({ title, stream, now, isResyncing, onResync }: DirectionProps) {
  return (
    <div className="min-w-0">
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="flex-1 font-semibold">{title}</h3>
        {stream !== undefined && onResync !== undefined && (
          <Button onClick={() => onResync(stream.id)} disabled={isResyncing}>
            Resync now
          </Button>
        )}
      </div>
      {stream === undefined ? (
        <p className="mt-1 text-muted">No stream in this direction: the connection is being made.</p>
      ) : (
        <>
          <p className="mt-1 text-xs text-muted">
            since <Time at={stream.connectedAt} />, {stream.peer}
          </p>
          {stream.retryAt !== null && (
            <p className="mt-1.5 text-xs">
              What is refused is sent again <b className="font-semibold">in {formatAge(stream.retryAt - now)}</b>; all else goes at once.
            </p>
          )}
          {stream.refused.length > 0 && <RefusedResources refused={stream.refused} now={now} />}
          <ul className="mt-2 flex flex-col gap-2">
            {stream.types.map((type) => (
              <TypeItem
                key={type.type}
                type={type}
                now={now}
                isResyncing={isResyncing}
                onResync={onResync === undefined ? undefined : () => onResync(stream.id, type.type)}
              />
            ))}
          </ul>
          {stream.types.length === 0 && <p className="mt-1 text-muted">Nothing has crossed yet.</p>}
        </>
      )}
    </div>
  )
}

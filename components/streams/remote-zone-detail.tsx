import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { RemoteZoneRow } from '../../server/model/remote-zone.ts'
import { formatCount } from '../format.ts'
import { RemoteSettings } from '../insights/remote-settings.tsx'
import { SubscriptionTable } from '../insights/subscription-table.tsx'
import { Time } from '../time.tsx'
import { remoteZoneState } from './remote-zones.ts'
import { Fact, History } from './stream-detail.tsx'

export interface RemoteZoneDetailProps {
  readonly zone: RemoteZoneRow
  readonly now: number
  /** What it is seen through, leading there. */
  readonly sourceLink: ReactNode
  readonly insightLink: ReactNode
  readonly onClose: () => void
}

/** A zone of an attached control plane: what it was sent and took, its connections, and the intervals that decide how late this is. */
export function RemoteZoneDetail({ zone, now, sourceLink, insightLink, onClose }: RemoteZoneDetailProps) {
  const { source, name, online, connectedAt, offlineSince, agent, subscriptions, dataplanes, settings } = zone
  const last = subscriptions.at(-1)
  const since = online ? connectedAt : offlineSince
  return (
    <section
      aria-label={`Zone ${name} of ${source}`}
      className="live-values min-w-0 rounded-xl border border-line bg-panel px-4 py-3.5 shadow-panel"
    >
      <header className="mb-2.5 flex items-start gap-2">
        <h2 className="min-w-0 flex-1 font-semibold break-words">
          Zone {name} <span className="font-normal text-muted">of {source}</span>
        </h2>
        <button
          type="button"
          aria-label="Close detail"
          onClick={onClose}
          className="-my-0.5 -mr-1.5 flex size-6 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-soft hover:text-ink"
        >
          <X aria-hidden className="size-4" />
        </button>
      </header>
      <div className="grid grid-cols-1 gap-4 md:grid-cols-2">
        <div className="min-w-0">
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
            <Fact label="state">
              {remoteZoneState(zone)}
              {since !== null && (
                <>
                  {' since '}
                  <Time at={since} />
                </>
              )}
            </Fact>
            <Fact label="runs">{agent ?? <span className="text-muted">it does not say</span>}</Fact>
            <Fact label="seen through">{sourceLink}</Fact>
            <Fact label="data planes">
              {formatCount(dataplanes.online)} of {formatCount(dataplanes.total)} online
            </Fact>
            <Fact label="insight">{insightLink}</Fact>
          </dl>
          <h3 className="mt-4 font-semibold">Connections</h3>
          {subscriptions.length === 0 ? (
            <p className="mt-1 text-muted">None is told of.</p>
          ) : (
            <History subscriptions={subscriptions} now={now} />
          )}
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          {last !== undefined && <SubscriptionTable subscription={last} now={now} />}
          <RemoteSettings settings={settings} />
        </div>
      </div>
    </section>
  )
}

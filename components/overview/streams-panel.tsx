import Link from 'next/link'
import type { ReactNode } from 'react'
import type { Counters, InstanceSelf } from '../../server/model/views.ts'
import { formatCount, formatSpan } from '../format.ts'
import { Time } from '../time.tsx'
import { Panel } from '../ui/panel.tsx'

export interface StreamsPanelProps {
  readonly counters: Pick<Counters, 'sessions' | 'zones' | 'links' | 'rejecting' | 'eventLoopLagMs' | 'storeProblem'>
  readonly self: InstanceSelf
  readonly rejectingHref: string
  readonly streamsHref: string
  readonly watchersHref: string
}

/** Who is connected to this instance, and how the instance itself is. */
export function StreamsPanel({ counters, self, rejectingHref, streamsHref, watchersHref }: StreamsPanelProps) {
  const { sessions, zones, links, rejecting, eventLoopLagMs, storeProblem } = counters
  return (
    <Panel title="Streams and instance" className="live-values">
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5">
        <Fact term="xDS streams">
          <b className="font-semibold">{formatCount(sessions.xds)}</b> <span className="text-muted">on {self.xds}</span>
        </Fact>
        <Fact term="rejecting">
          {rejecting === 0 ? (
            <span className="text-muted">no data plane rejects anything</span>
          ) : (
            <Link href={rejectingHref} className="font-semibold text-stale-ink underline underline-offset-2">
              {formatCount(rejecting)} {rejecting === 1 ? 'data plane' : 'data planes'}
            </Link>
          )}
        </Fact>
        {self.kds !== null && (
          <Fact term="zones">
            <Link href={streamsHref} className="underline underline-offset-2">
              <b className="font-semibold">{formatCount(zones.online)}</b> online
            </Link>
            {zones.syncing > 0 && <span> · {formatCount(zones.syncing)} syncing</span>}
            {zones.rejecting > 0 && <b className="font-semibold text-stale-ink"> · {formatCount(zones.rejecting)} rejecting</b>}{' '}
            <span className="text-muted">on {self.kds}</span>
          </Fact>
        )}
        <Fact term="links">
          <LinksHealth links={links} href={watchersHref} />
        </Fact>
        <Fact term="event loop late">
          {formatSpan(eventLoopLagMs.p50)} <span className="text-muted">p50</span> · {formatSpan(eventLoopLagMs.p99)}{' '}
          <span className="text-muted">p99</span>
        </Fact>
        <Fact term="store">
          {self.store} {storeProblem !== null && <b className="font-semibold text-stale-ink">does not answer</b>}
        </Fact>
        <Fact term="instance">
          <span className="break-words">
            {self.id} <span className="text-muted">· version {self.version}</span>
          </span>
        </Fact>
        <Fact term="started">
          <Time at={self.startedAt} />
        </Fact>
      </dl>
    </Panel>
  )
}

/** How what we watch is; the worst of them is a problem at the head of the page. */
function LinksHealth({ links, href }: { readonly links: Counters['links']; readonly href: string }) {
  const { total, byHealth } = links
  if (total === 0) return <span className="text-muted">nothing is watched</span>
  const troubled = (['degraded', 'unhealthy'] as const).filter((health) => byHealth[health] > 0)
  return (
    <>
      <Link href={href} className="underline underline-offset-2">
        <b className="font-semibold">{formatCount(byHealth.healthy)}</b> of {formatCount(total)} healthy
      </Link>
      {troubled.map((health) => (
        <b key={health} className="font-semibold text-stale-ink">
          {' '}
          · {formatCount(byHealth[health])} {health}
        </b>
      ))}
      {byHealth.paused > 0 && <span className="text-muted"> · {formatCount(byHealth.paused)} paused</span>}
    </>
  )
}

function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{term}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  )
}

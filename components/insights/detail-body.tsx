import type { ReactNode } from 'react'
import { freshnessAt, latenessAt, pendingMsAt } from '../../server/model/freshness.ts'
import type { Counters, InsightDetail } from '../../server/model/views.ts'
import { whyLate } from '../../server/model/why-late.ts'
import { formatAge, formatExactSpan, formatSpan } from '../format.ts'
import { Time } from '../time.tsx'
import { ContentList } from './content-list.tsx'
import { RemoteSettings } from './remote-settings.tsx'
import { LastWrites } from './last-writes.tsx'
import { steadyAge } from './steady-age.ts'
import { SubscriptionTable } from './subscription-table.tsx'

export interface DetailBodyProps {
  readonly detail: InsightDetail
  /** Where the data plane connects from, when it is connected to this instance. */
  readonly peer: string | undefined
  readonly storeProblem: Counters['storeProblem']
  readonly now: number
}

/** What is known of one insight: why it is as late as it is, then the evidence. */
export function DetailBody({ detail, peer, storeProblem, now }: DetailBodyProps) {
  const { row, subscriptions, mtls, writes, content, settings } = detail
  const [current, ...earlier] = subscriptions.toReversed()
  return (
    <div className="flex flex-col gap-4">
      <Why detail={detail} storeProblem={storeProblem} now={now} />
      <dl className="grid grid-cols-[8.125rem_minmax(0,1fr)] gap-x-2.5 gap-y-1.5">
        <Fact term="waiting since">
          {row.pendingSince === null ? (
            <span className="text-muted">nothing waits</span>
          ) : (
            <>
              <Time at={row.pendingSince} />{' '}
              <span className="text-muted">
                ({steadyAge(pendingMsAt(row, now))}
                {row.online && `, ${latenessAt(row, now).toFixed(1)} × cadence`})
              </span>
            </>
          )}
        </Fact>
        {(row.source === null || row.heartbeatMs > 0) && (
          <Fact term={row.source === null ? 'generation moved' : 'last renewed'}>
            {row.heartbeatAt === 0 ? <span className="text-muted">not yet</span> : <Time at={row.heartbeatAt} />}
          </Fact>
        )}
        <Fact term="cadence">{cadenceText(row)}</Fact>
        {row.source !== null && <Fact term="seen through">{row.source}</Fact>}
        {row.modifiedAt > 0 && (
          <Fact term="last write">
            <Time at={row.modifiedAt} />
          </Fact>
        )}
        <Fact term="version">
          <code className="break-all">{row.version || '–'}</code>
          {row.writer !== '' && row.writer !== row.version && ` by ${row.writer}`}
        </Fact>
        {row.source === null && (
          <Fact term="conflicts">
            <span className={row.conflicts.harmful > 0 ? 'font-semibold text-stale-ink' : undefined}>{row.conflicts.harmful} harmful</span>,{' '}
            {row.conflicts.benign} benign
          </Fact>
        )}
        {current !== undefined && (
          <Fact term={current.disconnectedAt === undefined ? 'connected' : 'was connected'}>
            {current.disconnectedAt === undefined && 'since '}
            <Time at={current.connectedAt} />
            {current.disconnectedAt !== undefined && (
              <>
                {' to '}
                <Time at={current.disconnectedAt} />
              </>
            )}
            {current.variant !== undefined && `, ${current.variant === 'delta' ? 'delta' : 'SotW'}`}
            {peer !== undefined && `, ${peer}`}
            {current.agent !== undefined && `, ${current.agent}`}
          </Fact>
        )}
        {current !== undefined && (
          <Fact term="instance">
            <span title={current.instance}>{shortId(current.instance)}</span>
          </Fact>
        )}
        {mtls !== null && (
          <>
            <Fact term="certificate until">
              <Time at={mtls.certificateExpiresAt} />
            </Fact>
            <Fact term="rotated">
              <Time at={mtls.certificateRegeneratedAt} /> <span className="text-muted">({mtls.certificateRegenerations} times)</span>
            </Fact>
          </>
        )}
      </dl>
      <RemoteSettings settings={settings} />
      {current !== undefined && <SubscriptionTable subscription={current} now={now} />}
      {content !== null && <ContentList content={content} />}
      <LastWrites writes={writes} now={now} />
      {earlier.length > 0 && (
        <details className="text-muted">
          <summary className="cursor-pointer">
            {earlier.length === 1 ? 'Its subscription before' : `${earlier.length} subscriptions before`}
          </summary>
          {earlier.map((subscription) => (
            <div key={subscription.id} className="mt-2">
              <p>
                <Time at={subscription.connectedAt} /> to{' '}
                {subscription.disconnectedAt === undefined ? 'now' : <Time at={subscription.disconnectedAt} />}, {subscription.instance}
                {subscription.agent !== undefined && `, ${subscription.agent}`}
              </p>
              <SubscriptionTable subscription={subscription} now={now} />
            </div>
          ))}
        </details>
      )}
    </div>
  )
}

/** Of ours, the settings as they are; of what is watched, one span, as it may be a part of one over there. */
function cadenceText({ source, cadenceMs, heartbeatMs }: InsightDetail['row']): string {
  if (source !== null)
    return heartbeatMs > 0 ? `renewed every ${formatSpan(heartbeatMs)}` : `its status follows within ${formatSpan(cadenceMs)}`
  return `${formatExactSpan(cadenceMs)}${heartbeatMs > 0 ? `, heartbeat ${formatExactSpan(heartbeatMs)}` : ''}`
}

const tones = {
  fresh: 'border-fresh bg-fresh/7',
  late: 'border-late bg-late/8',
  stale: 'border-stale bg-stale/7',
  offline: 'border-off bg-off/10',
  unknown: 'border-off bg-off/10',
} as const

/** The sentence is made here, of the evidence and the moment, so that its ages move with the clock and not with the traffic. */
function Why({ detail, storeProblem, now }: Omit<DetailBodyProps, 'peer'>) {
  const { row, nextFlushAt } = detail
  const level = freshnessAt(row, now)
  const sentence = whyLate({ ...detail, storeProblem }, now)
  const isRemarkable = row.nacked.length > 0 || row.complaints.length > 0 || row.contenders.length > 0
  const [lead, rest] = splitLead(sentence ?? 'Fresh and quiet. Nothing of it waits to be written.')
  return (
    <p className={`rounded-md border-l-3 px-3 py-2 ${isRemarkable && level === 'fresh' ? tones.late : tones[level]}`}>
      <strong className="font-semibold">{lead}</strong>
      {rest}
      {nextFlushAt !== null && !rest.includes('next flush') && (
        <span className="text-muted"> Next flush {nextFlushAt - now < 500 ? 'now' : `in ${formatAge(nextFlushAt - now)}`}.</span>
      )}
    </p>
  )
}

/** The first clause is what one reads from afar: up to the first full stop or colon. */
function splitLead(sentence: string): readonly [lead: string, rest: string] {
  const end = sentence.search(/[.:](\s|$)/)
  return end === -1 ? [sentence, ''] : [sentence.slice(0, end + 1), sentence.slice(end + 1)]
}

/** Of a UUID the first part is enough to tell few instances apart. */
function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? id.slice(0, 8) : id
}

function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{term}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  )
}

'use client'

import { type ReactNode, useId } from 'react'
import type { SinkRow } from '../../server/model/views.ts'
import { formatAge, formatExactSpan, formatQuantity, formatRate, formatSpan } from '../format.ts'
import { useNow } from '../now.tsx'
import { Time } from '../time.tsx'
import { Button } from '../ui/button.tsx'
import { LeadsTo } from '../ui/leads-to.tsx'
import { Note } from '../ui/note.tsx'
import { CountdownRing } from './countdown-ring.tsx'
import { ThroughputBars } from './throughput-bars.tsx'

export interface SinkCardProps {
  readonly sink: SinkRow
  readonly isTuning: boolean
  readonly onTune: () => void
}

/** One sink: when it writes next, how much it writes, and what became of it. */
export function SinkCard({ sink, isTuning, onTune }: SinkCardProps) {
  const id = useId()
  const { name, intervalMs, backoffMs, sessions, perSecond, lagMs, lastError } = sink
  return (
    <section aria-labelledby={id} className="@container min-w-0 rounded-xl border border-line bg-panel px-4 py-3.5 shadow-panel">
      <div className="mb-2 flex items-center gap-3.5">
        <Countdown sink={sink} />
        <div className="min-w-0 flex-1">
          <h2 id={id} className="text-[0.9rem] font-semibold break-words">
            {name}
          </h2>
          <p className="live-values text-muted">
            {formatQuantity(sessions, 'session')} · <NextGroup nextFlushAt={sink.nextFlushAt} />
          </p>
        </div>
        <Button aria-label={`Tune ${name}`} aria-expanded={isTuning} onClick={onTune} className="aria-expanded:border-accent">
          Tune
        </Button>
      </div>
      <div className="live-values @min-[44rem]:grid @min-[44rem]:grid-cols-[minmax(0,1fr)_19rem] @min-[44rem]:items-end @min-[44rem]:gap-x-10">
        <div className="min-w-0">
          <p className="text-[1.6rem] leading-tight font-semibold tracking-tight">
            {formatExactSpan(intervalMs)}{' '}
            <span className="text-sm font-normal tracking-normal text-muted">
              interval{backoffMs > 0 && `, backoff ${formatExactSpan(backoffMs)}`}
            </span>
          </p>
          <ThroughputBars recentWrites={sink.recentWrites} />
        </div>
        <dl>
          <Figure term="written">{formatRate(perSecond.written)}</Figure>
          <Figure term="unchanged">{formatRate(perSecond.unchanged)}</Figure>
          <Figure
            term={
              <>
                conflict
                <LeadsTo />
                next tick
              </>
            }
          >
            {formatRate(perSecond.conflict)}
          </Figure>
          <Figure term="error" isBad={perSecond.error > 0}>
            {formatRate(perSecond.error)}
          </Figure>
          <Figure term="lag p50 / p99">
            {formatSpan(lagMs.p50)} / {formatSpan(lagMs.p99)}
          </Figure>
        </dl>
        {lastError !== null && (
          <div className="col-span-full mt-2">
            <Note tone="bad">
              <b className="font-semibold">Last error</b> at <Time at={lastError.at} />:{' '}
              <span className="break-words">{lastError.message}</span>
            </Note>
          </div>
        )}
      </div>
    </section>
  )
}

const QUARTER_MS = 250

function Countdown({ sink: { nextFlushAt, intervalMs } }: { readonly sink: SinkRow }) {
  const now = useNow(QUARTER_MS)
  return <CountdownRing remainingMs={nextFlushAt === null ? null : Math.max(0, nextFlushAt - now)} intervalMs={intervalMs} />
}

function NextGroup({ nextFlushAt }: Pick<SinkRow, 'nextFlushAt'>) {
  const now = useNow(QUARTER_MS)
  if (nextFlushAt === null) return 'nothing is due'
  const remainingMs = nextFlushAt - now
  return remainingMs <= 0 ? 'next group now' : `next group in ${formatAge(remainingMs)}`
}

function Figure({ term, isBad = false, children }: { readonly term: ReactNode; readonly isBad?: boolean; readonly children: ReactNode }) {
  return (
    <div className="flex justify-between gap-3 py-0.5">
      <dt className="text-muted">{term}</dt>
      <dd className={`font-semibold ${isBad ? 'text-stale-ink' : ''}`}>{children}</dd>
    </div>
  )
}

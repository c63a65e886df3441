import Link from 'next/link'
import type { SinkRow } from '../../server/model/views.ts'
import { formatExactSpan, formatQuantity, formatRate, formatSpan } from '../format.ts'
import { Badge } from '../ui/badge.tsx'
import { Panel } from '../ui/panel.tsx'

export function SinksSummary({ sinks, sinksHref }: { readonly sinks: readonly SinkRow[]; readonly sinksHref: string }) {
  return (
    <Panel
      title="Sinks"
      className="live-values"
      aside={
        <Link href={sinksHref} className="text-accent hover:underline">
          Tune them
        </Link>
      }
    >
      <ul>
        {sinks.map((sink) => (
          <li key={sink.name} className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 border-line py-1.5 not-first:border-t">
            <div>
              <h3 className="font-semibold">{sink.name}</h3>
              <p className="text-xs text-muted">
                every {formatExactSpan(sink.intervalMs)} ·{' '}
                {sink.sessions === 0
                  ? 'no session'
                  : `${formatQuantity(sink.sessions, 'session')} · ${formatRate(sink.writesPerSecond)} written · lag p99 ${formatSpan(sink.lagMs.p99)}`}
              </p>
            </div>
            <SinkState {...sink} />
          </li>
        ))}
      </ul>
      {sinks.length === 0 && <p className="text-muted">No sink runs in this instance.</p>}
    </Panel>
  )
}

function SinkState({ lastError, sessions }: SinkRow) {
  if (lastError !== null) return <Badge tone="bad">failing</Badge>
  return sessions === 0 ? <Badge tone="quiet">idle</Badge> : <Badge tone="good">writing</Badge>
}

'use client'

import { useQuery } from '@tanstack/react-query'
import { useQueryStates } from 'nuqs'
import { ConflictMatrix } from '../../components/conflicts/conflict-matrix.tsx'
import { ConflictTimes } from '../../components/conflicts/conflict-times.tsx'
import { HotResources } from '../../components/conflicts/hot-resources.tsx'
import { SeverityLegend } from '../../components/conflicts/severity-legend.tsx'
import { formatCount } from '../../components/format.ts'
import { LastWrites } from '../../components/insights/last-writes.tsx'
import { useNow } from '../../components/now.tsx'
import { ConflictPicture } from '../../components/overview/conflict-panel.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Note } from '../../components/ui/note.tsx'
import { Panel } from '../../components/ui/panel.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { fightOf } from '../../server/model/conflict-story.ts'
import { insightsHref, parseKeyParam, toKeyParam } from '../insights/insights-href.ts'
import { useTouched } from '../insights/use-touched.ts'
import { useWhenLiveAgain } from '../insights/use-when-live-again.ts'
import { useCounters } from '../live/use-counters.ts'
import { useTRPC } from '../trpc-client.tsx'
import { HOT, hotOrder, matrixInput } from './queries.ts'
import { conflictsSearchParams, spans } from './search-params.ts'

const REREAD_MS = 2_000
/** What a fight is judged over. */
const FIGHT_WINDOW_MS = 60_000
const spanWords = { '5m': 'last 5 min', '1h': 'last hour', all: 'all that is kept' } as const
const emptyWords = { '5m': ' in the last 5 minutes', '1h': ' in the last hour', all: '' } as const

export function ConflictsClient() {
  const trpc = useTRPC()
  const [view, setView] = useQueryStates(conflictsSearchParams)
  const matrix = useQuery(trpc.conflicts.matrix.queryOptions(matrixInput(view.span), { refetchInterval: REREAD_MS }))
  const lately = useQuery(trpc.conflicts.matrix.queryOptions({ sinceMs: FIGHT_WINDOW_MS }, { refetchInterval: REREAD_MS }))
  const recent = useCounters((counters) => counters.conflicts.recent)
  useWhenLiveAgain(() => void matrix.refetch())
  const cells = matrix.data?.cells ?? []
  const fight = fightOf(lately.data?.cells ?? [], FIGHT_WINDOW_MS)
  const total = (what: 'benign' | 'harmful') => formatCount(cells.reduce((sum, cell) => sum + cell[what], 0))

  return (
    <div className="flex flex-col gap-3">
      {fight !== null && (
        <Note tone="warn" role="status">
          <b className="font-semibold">{fight}</b> Lengthen the interval of one of them, or let one write what both know.
        </Note>
      )}
      <Panel
        title="Who lost to whom"
        className="live-values"
        aside={
          <div role="group" aria-label="How far back" className="flex gap-1">
            {spans.map((span) => (
              <button
                key={span}
                type="button"
                aria-pressed={view.span === span}
                onClick={() => void setView({ span })}
                className="cursor-pointer rounded-md px-2 py-0.5 hover:text-ink aria-pressed:bg-soft aria-pressed:font-semibold aria-pressed:text-ink"
              >
                {spanWords[span]}
              </button>
            ))}
          </div>
        }
      >
        {matrix.data === undefined ? (
          matrix.error === null ? (
            <Skeleton lines={4} label="the conflicts" />
          ) : (
            <BlockMessage title="The conflicts could not be read" onRetry={() => void matrix.refetch()}>
              {matrix.error.message}
            </BlockMessage>
          )
        ) : cells.length === 0 ? (
          <BlockMessage title={`No conflicts${emptyWords[view.span]}`}>
            No write was refused because another writer was faster. When one is, this shows which writer lost to which, how often it was
            benign or harmful, and how many attempts it took.
          </BlockMessage>
        ) : (
          <>
            <p className="mb-2 text-muted">
              benign {total('benign')} · harmful {total('harmful')}
            </p>
            <ConflictMatrix cells={cells} />
          </>
        )}
        <dl className="mt-3 grid grid-cols-[auto_1fr] gap-x-2 gap-y-0.5 text-xs text-muted">
          <dt className="font-semibold">Benign</dt>
          <dd>The write was made a moment later, by a retry or at the next tick.</dd>
          <dt className="font-semibold">Harmful</dt>
          <dd>It was given up, or cost a stream.</dd>
        </dl>
      </Panel>
      <Panel title="Over time" className="live-values" aside={<SeverityLegend />}>
        <ConflictPicture recent={recent} />
        <ConflictTimes recent={recent} />
      </Panel>
      <Hot open={view.open} onOpen={(open) => void setView({ open })} />
    </div>
  )
}

/** Its order holds still while somebody is at it or has one open; the counts go on. */
function Hot({ open, onOpen }: { readonly open: string | null; readonly onOpen: (open: string | null) => void }) {
  const trpc = useTRPC()
  const [isTouched, touch] = useTouched()
  const isHeld = isTouched || open !== null
  const order = useQuery(trpc.insights.order.queryOptions(hotOrder, { refetchInterval: isHeld ? false : REREAD_MS * 5 }))
  const rows = useQuery(
    trpc.insights.rows.queryOptions(
      { keys: order.data?.keys.slice(0, HOT) ?? [] },
      { refetchInterval: REREAD_MS, enabled: order.data !== undefined, placeholderData: (before) => before },
    ),
  )
  const problem = order.error ?? rows.error
  const hot = rows.data?.items.filter(({ conflicts }) => conflicts.benign + conflicts.harmful > 0)
  return (
    <div {...touch}>
      <Panel title="Hot insights" className="live-values" aside="most conflicts first, since this instance started">
        {hot === undefined ? (
          problem === null ? (
            <Skeleton lines={4} label="the hot insights" />
          ) : (
            <BlockMessage title="The insights could not be read" onRetry={() => void (order.data === undefined ? order : rows).refetch()}>
              {problem.message}
            </BlockMessage>
          )
        ) : hot.length === 0 ? (
          <p className="text-muted">None: the insights that writers met on most would stand here, each with who wrote it when.</p>
        ) : (
          <HotResources
            rows={hot}
            open={open}
            keyOf={({ key }) => toKeyParam(key)}
            onOpen={({ key }) => onOpen(toKeyParam(key) === open ? null : toKeyParam(key))}
            hrefOf={({ key }) => insightsHref({ key })}
          >
            {open !== null && <Writes insight={open} />}
          </HotResources>
        )}
      </Panel>
    </div>
  )
}

function Writes({ insight }: { readonly insight: string }) {
  const trpc = useTRPC()
  const now = useNow()
  const key = parseKeyParam(insight) ?? { type: '', mesh: '', name: '' }
  const detail = useQuery(trpc.insights.get.queryOptions({ key }, { refetchInterval: REREAD_MS, retry: false }))
  if (detail.data !== undefined) return <LastWrites writes={detail.data.writes} now={now} />
  return detail.error === null ? <Skeleton lines={2} label="its writes" /> : <p className="text-muted">{detail.error.message}</p>
}

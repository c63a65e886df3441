import type { Counters } from '../../server/model/views.ts'
import { formatCount, formatSpan } from '../format.ts'
import { Panel } from '../ui/panel.tsx'
import { AREA_HEIGHT, AREA_WIDTH, conflictAreaOf } from './conflict-area.ts'

/** Who lost writes to whom. Benign: a retry settled it before anybody could tell; harmful: an insight was late for it. */
export function ConflictPanel({ cells, recent }: Counters['conflicts']) {
  const benign = cells.reduce((sum, cell) => sum + cell.benign, 0)
  const harmful = cells.reduce((sum, cell) => sum + cell.harmful, 0)
  const worstFirst = cells.toSorted((a, b) => b.harmful - a.harmful || b.benign - a.benign)
  return (
    <Panel
      title="Conflicts and retries"
      className="live-values"
      aside={
        <>
          benign {formatCount(benign)} ·{' '}
          <span className={harmful > 0 ? 'font-semibold text-stale-ink' : undefined}>harmful {formatCount(harmful)}</span>
        </>
      }
    >
      {worstFirst.length === 0 ? (
        <p className="text-muted">No write has lost to another since this instance started.</p>
      ) : (
        <>
          <ConflictPicture recent={recent} />
          <div className="mt-3 overflow-x-auto">
            <table className="w-full">
              <caption className="sr-only">Who lost to whom, since this instance started</caption>
              <thead className="text-xs text-muted">
                <tr>
                  <th scope="col" className="pr-3 pb-1 text-left font-normal">
                    writer
                  </th>
                  <th scope="col" className="pr-3 pb-1 text-left font-normal">
                    lost to
                  </th>
                  <th scope="col" className="pr-3 pb-1 text-right font-normal">
                    benign
                  </th>
                  <th scope="col" className="pr-3 pb-1 text-right font-normal">
                    harmful
                  </th>
                  <th scope="col" className="pb-1 text-right font-normal">
                    attempts
                  </th>
                </tr>
              </thead>
              <tbody>
                {worstFirst.map((cell) => (
                  <tr key={`${cell.type} ${cell.writer} ${cell.lostTo}`} className="border-t border-line">
                    <th scope="row" className="py-1 pr-3 text-left font-normal" title={cell.type}>
                      <code>{cell.writer}</code>
                    </th>
                    <td className="py-1 pr-3">
                      <code>{cell.lostTo}</code>
                    </td>
                    <td className="py-1 pr-3 text-right">{formatCount(cell.benign)}</td>
                    <td className={`py-1 pr-3 text-right ${cell.harmful > 0 ? 'font-semibold text-stale-ink' : 'text-muted'}`}>
                      {formatCount(cell.harmful)}
                    </td>
                    <td className="py-1 text-right text-muted" title="on average, per conflict">
                      {attemptsOf(cell)}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Panel>
  )
}

/** Conflicts over time, harmful on benign. */
export function ConflictPicture({ recent }: Pick<Counters['conflicts'], 'recent'>) {
  const area = conflictAreaOf(recent)
  return (
    <figure>
      <svg
        role="img"
        aria-label={`Conflicts over the last ${formatSpan(area.spanMs)}: at most ${area.highest} in ${formatSpan(area.bucketMs)}`}
        viewBox={`0 0 ${AREA_WIDTH} ${AREA_HEIGHT}`}
        preserveAspectRatio="none"
        className="h-24 w-full"
      >
        {[0.5, AREA_HEIGHT / 2, AREA_HEIGHT - 0.5].map((y) => (
          <line key={y} x1="0" x2={AREA_WIDTH} y1={y} y2={y} className="stroke-line [vector-effect:non-scaling-stroke]" />
        ))}
        <path d={area.benign} className="fill-benign opacity-80" />
        <path d={area.harmful} className="fill-stale opacity-90" />
      </svg>
      <figcaption className="flex justify-between text-[0.7rem] text-muted">
        <span>{formatSpan(area.spanMs)} ago</span>
        <span>{area.highest === 0 ? 'none since then' : `at most ${formatCount(area.highest)} in ${formatSpan(area.bucketMs)}`}</span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}

function attemptsOf({ attempts, benign, harmful }: Counters['conflicts']['cells'][number]): string {
  return benign + harmful === 0 ? '–' : (attempts / (benign + harmful)).toFixed(1)
}

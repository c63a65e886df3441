import type { WriteRecord } from '../../server/model/views.ts'
import { formatSpan } from '../format.ts'
import { Time } from '../time.tsx'
import { writeLanesAt } from './write-lanes.ts'

/** Who wrote when, on one time axis: a solid mark was written, a hollow one lost. The table says the same in words. */
export function LastWrites({ writes, now }: { readonly writes: readonly WriteRecord[]; readonly now: number }) {
  const { windowMs, lanes } = writeLanesAt(writes, now)
  return (
    <section aria-labelledby="last-writes">
      <h3 id="last-writes" className="flex items-baseline justify-between font-semibold">
        Last writes {lanes.length > 0 && <span className="text-xs font-normal text-muted">{formatSpan(windowMs)}</span>}
      </h3>
      {lanes.length === 0 ? (
        <p className="mt-1 text-muted">None seen since this instance started.</p>
      ) : (
        <>
          <div aria-hidden className="mt-2 grid grid-cols-[minmax(4rem,auto)_1fr] items-center gap-x-3 gap-y-1.5">
            {lanes.map(({ label, marks }) => (
              <div key={label} className="contents">
                <span className="max-w-32 break-words text-xs text-muted">{label}</span>
                <span className="relative h-3.5 rounded-sm bg-soft">
                  {marks.map(({ write, percent }) => (
                    <span
                      key={`${write.version} ${write.at} ${write.outcome}`}
                      className={`absolute inset-y-0.5 w-1 -translate-x-1/2 rounded-xs ${
                        write.outcome === 'written' ? 'bg-accent' : 'border border-stale bg-panel'
                      }`}
                      style={{ left: `clamp(2px, ${percent}%, calc(100% - 2px))` }}
                    />
                  ))}
                </span>
              </div>
            ))}
          </div>
          <details className="mt-2 text-xs">
            <summary className="cursor-pointer text-muted">as a table</summary>
            <table className="mt-1 w-full">
              <caption className="sr-only">Last writes, newest first</caption>
              <thead className="text-muted">
                <tr>
                  {['When', 'Writer', 'Outcome'].map((label) => (
                    <th key={label} scope="col" className="py-0.5 pr-2 text-left font-normal">
                      {label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {writes.toReversed().map((write) => (
                  <tr key={`${write.version} ${write.at} ${write.outcome}`} className="border-t border-line">
                    <td className="py-0.5 pr-2 whitespace-nowrap">
                      <Time at={write.at} />
                    </td>
                    <td className="py-0.5 pr-2">{write.writer}</td>
                    <td className={`py-0.5 ${write.outcome === 'conflict' ? 'text-stale-ink' : ''}`}>{outcomeText(write)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </details>
        </>
      )}
    </section>
  )
}

function outcomeText({ outcome, lostTo }: WriteRecord): string {
  if (outcome === 'written') return 'written'
  if (lostTo === undefined) return 'lost'
  return `lost to ${lostTo.writer}${lostTo.certainty === 'inferred' ? ' (inferred)' : ''}`
}

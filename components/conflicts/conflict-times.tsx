import type { ConflictPoint } from '../../server/model/views.ts'
import { formatCount } from '../format.ts'
import { Time } from '../time.tsx'

/** What the picture of conflicts over time shows, in numbers: the spells that had any, newest first. */
export function ConflictTimes({ recent }: { readonly recent: readonly ConflictPoint[] }) {
  const eventful = recent.filter(({ benign, harmful }) => benign + harmful > 0).toReversed()
  if (eventful.length === 0) return null
  return (
    <details className="mt-2 text-xs">
      <summary className="cursor-pointer text-muted">as a table</summary>
      <div className="relative mt-1 max-h-56 overflow-y-auto">
        <table className="w-full max-w-sm">
          <caption className="sr-only">Conflicts over time, newest first</caption>
          <thead className="text-muted">
            <tr>
              {['From', 'Benign', 'Harmful'].map((label) => (
                <th key={label} scope="col" className={`py-0.5 font-normal ${label === 'From' ? 'text-left' : 'text-right'}`}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {eventful.map(({ at, benign, harmful }) => (
              <tr key={at} className="border-t border-line">
                <td className="py-0.5">
                  <Time at={at} />
                </td>
                <td className="py-0.5 text-right">{formatCount(benign)}</td>
                <td className={`py-0.5 text-right ${harmful > 0 ? 'font-semibold text-stale-ink' : ''}`}>{formatCount(harmful)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

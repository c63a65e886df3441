import type { ConflictCell } from '../../server/model/views.ts'
import { formatCount } from '../format.ts'

/** Who lost (down) to whom (across). Benign and harmful stand apart in every cell; the more, the stronger its ground. */
export function ConflictMatrix({ cells }: { readonly cells: readonly ConflictCell[] }) {
  const writers = namesOf(cells.map(({ writer }) => writer))
  const winners = namesOf(cells.map(({ lostTo }) => lostTo))
  const most = Math.max(1, ...cells.map(({ benign, harmful }) => benign + harmful))
  return (
    <div className="overflow-x-auto">
      <table className="w-full">
        <caption className="sr-only">
          Writers by whom they lost to: benign and harmful conflicts, and how many attempts a write took
        </caption>
        <thead>
          <tr className="text-xs text-muted">
            <th scope="col" className="px-2 py-1 text-left font-normal">
              writer, lost to
            </th>
            {winners.map((winner) => (
              <th key={winner} scope="col" className="px-2 py-1 text-left font-normal">
                <code>{winner}</code>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {writers.map((writer) => (
            <tr key={writer} className="border-t border-line">
              <th scope="row" className="px-2 py-2 text-left font-normal">
                <code>{writer}</code>
              </th>
              {winners.map((winner) => (
                <td key={winner} className="px-1 py-1">
                  <Cell cells={cells.filter((cell) => cell.writer === writer && cell.lostTo === winner)} most={most} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Cell({ cells, most }: { readonly cells: readonly ConflictCell[]; readonly most: number }) {
  if (cells.length === 0) return <span className="px-2 text-muted">–</span>
  return (
    <div className="flex flex-wrap gap-1.5">
      {cells.map(({ type, benign, harmful, attempts }) => (
        <div key={type} className="relative overflow-hidden rounded-lg border border-line px-2.5 py-1.5">
          <span
            aria-hidden
            className={`absolute inset-0 ${harmful > 0 ? 'bg-stale' : 'bg-benign'}`}
            style={{ opacity: 0.06 + (0.16 * (benign + harmful)) / most }}
          />
          <span className="relative block">
            <b className="font-semibold">{formatCount(benign)}</b> benign ·{' '}
            <b className={`font-semibold ${harmful > 0 ? 'text-stale-ink' : ''}`}>{formatCount(harmful)}</b> harmful
          </span>
          <span className="relative block text-xs text-muted">
            {type} · {(attempts / Math.max(1, benign + harmful)).toFixed(1)} attempts each
          </span>
        </div>
      ))}
    </div>
  )
}

function namesOf(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}

import { ArrowDown, ArrowRight } from 'lucide-react'
import type { ConflictCell } from '../../server/model/views.ts'
import { formatCount } from '../format.ts'

/**
 * Who lost (down) to whom (across). Benign and harmful stand apart in every cell, as numbers and as lengths of one bar.
 * Its position holds what is there for screen readers alone, which else would widen the page.
 */
export function ConflictMatrix({ cells }: { readonly cells: readonly ConflictCell[] }) {
  const writers = namesOf(cells.map(({ writer }) => writer))
  const winners = namesOf(cells.map(({ lostTo }) => lostTo))
  const most = Math.max(1, ...cells.map(countOf))
  return (
    <div
      // Focusable, so that it scrolls by keyboard where it is wider than the page.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      role="group"
      aria-label="Who lost to whom, scrolls sideways"
      className="relative overflow-x-auto"
    >
      <table className="w-full sm:min-w-max">
        <caption className="sr-only">
          Writers by whom they lost to: benign and harmful conflicts, and how many attempts a write took
        </caption>
        <thead>
          <tr className="text-xs text-muted">
            <th scope="col" className="w-px px-2 py-1 text-left font-normal whitespace-nowrap">
              <span className="inline-flex items-center gap-1">
                writer <ArrowDown aria-hidden className="size-3" /> lost to <ArrowRight aria-hidden className="size-3" />
              </span>
            </th>
            {winners.map((winner) => (
              <th key={winner} scope="col" className="px-3 py-1 text-left font-normal">
                <code className="text-ink">{winner}</code>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {writers.map((writer) => (
            <tr key={writer} className="border-t border-line">
              <th scope="row" className="px-2 py-2 text-left font-normal sm:whitespace-nowrap">
                <code>{writer}</code>
              </th>
              {winners.map((winner) => (
                <td key={winner} className="px-1 py-1 align-top">
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
  if (cells.length === 0) {
    return (
      <span className="block px-2 py-1.5 text-muted">
        <span aria-hidden>–</span>
        <span className="sr-only">none</span>
      </span>
    )
  }
  return (
    <div className="flex flex-col gap-1.5">
      {cells.map((cell) => (
        <Counts key={cell.type} cell={cell} most={most} />
      ))}
    </div>
  )
}

function Counts({ cell, most }: { readonly cell: ConflictCell; readonly most: number }) {
  const { type, benign, harmful, attempts } = cell
  const percentOf = (count: number) => `${(100 * count) / most}%`
  return (
    <div className="relative min-w-32 sm:min-w-40 overflow-hidden rounded-lg border border-line px-2.5 pt-1.5 pb-2.5">
      <span
        aria-hidden
        className={`absolute inset-0 ${harmful > 0 ? 'bg-stale' : 'bg-benign'}`}
        style={{ opacity: 0.05 + (0.15 * countOf(cell)) / most }}
      />
      <span className="relative block sm:whitespace-nowrap">
        <b className="font-semibold">{formatCount(benign)}</b> benign ·{' '}
        <b className={`font-semibold ${harmful > 0 ? 'text-stale-ink' : ''}`}>{formatCount(harmful)}</b> harmful
      </span>
      <span className="relative block text-xs text-muted sm:whitespace-nowrap">
        {type} · {(attempts / Math.max(1, countOf(cell))).toFixed(1)} attempts on average
      </span>
      <span aria-hidden className="absolute inset-x-0 bottom-0 flex h-1">
        <span className="bg-benign" style={{ width: percentOf(benign) }} />
        <span className="bg-stale" style={{ width: percentOf(harmful) }} />
      </span>
    </div>
  )
}

function countOf({ benign, harmful }: ConflictCell): number {
  return benign + harmful
}

function namesOf(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}

import { formatCount } from '../format.ts'
import type { OrderNews } from './insight-order.ts'

export interface OrderPillProps {
  readonly news: OrderNews | undefined
  /** What could not be read. */
  readonly problem: string | undefined
  readonly onRefresh: () => void
}

/** Says quietly, over the list's lower edge, that the order on screen is no longer the present one, and takes it again when told to. */
export function OrderPill({ news, problem, onRefresh }: OrderPillProps) {
  return (
    <div className="pointer-events-none absolute inset-x-0 bottom-3 z-10 flex justify-center">
      {/* Said once, not with every count. */}
      <span role="status" className="sr-only">
        {problem ?? (news === undefined ? '' : 'A newer order of the list can be taken')}
      </span>
      {(news !== undefined || problem !== undefined) && (
        <button
          type="button"
          onClick={onRefresh}
          className={`pointer-events-auto cursor-pointer rounded-full border bg-panel px-3 py-1 text-xs whitespace-nowrap shadow-md hover:border-accent ${
            problem === undefined ? 'border-control' : 'border-stale'
          }`}
        >
          {problem ?? (news === undefined ? '' : textOf(news))} <span className="text-accent">· refresh order</span>
        </button>
      )}
    </div>
  )
}

function textOf(news: OrderNews): string {
  return news.kind === 'added' ? `${formatCount(news.count)} new` : 'order moved'
}

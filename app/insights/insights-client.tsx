'use client'

import { useQueryStates } from 'nuqs'
import { useCallback, useEffect, useRef, useState } from 'react'
import { describeFilters } from '../../components/insights/describe-filters.ts'
import { FilterBar, type ListFilters } from '../../components/insights/filter-bar.tsx'
import { InsightGrid } from '../../components/insights/insight-grid.tsx'
import { ListSkeleton, NoMatch } from '../../components/insights/list-states.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { lazyPart } from '../../components/ui/lazy-part.tsx'
import { toKeyString } from '../../server/model/resource.ts'
import type { InsightFilter, InsightSort, Key } from '../../server/model/views.ts'
import { CsvButton } from './csv-button.tsx'
import type { FirstPage } from './first-page.ts'
import { FirstRows, InsightRowSlot } from './insight-row-slot.tsx'
import { OrderWatch } from './order-watch.tsx'
import { problemText } from './problem-text.ts'
import { clearedFilters, insightsSearchParams, isNarrowed, toInsightFilter } from './search-params.ts'
import { useEscape, useSlash } from './use-page-keys.ts'
import { useFilterFacts } from './use-filter-facts.ts'
import { useInsightOrder } from './use-insight-order.ts'
import { useRowsOnScreen } from './use-rows-on-screen.ts'
import { useTouched } from './use-touched.ts'
import { useWhenLiveAgain } from './use-when-live-again.ts'

const { Part: InsightDetailPanel, preload: preloadDetail } = lazyPart(() =>
  import('./insight-detail.tsx').then((file) => file.InsightDetailPanel),
)
const { Part: NoInsights } = lazyPart(() => import('../../components/insights/no-insights.tsx').then((file) => file.NoInsights))

export function InsightsClient({ first, xds }: { readonly first: FirstPage; readonly xds: string }) {
  const [view, setView] = useQueryStates(insightsSearchParams)
  const { key: openKey, ...filters } = view
  const filter = useStableFilter(toInsightFilter(view))
  const query = useInsightOrder(filter, first)
  useWhenLiveAgain(() => {
    if (query.error !== null) query.refresh()
  })
  const facts = useFilterFacts(view.type, first.meshes)
  const search = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [isAtTop, setAtTop] = useState(true)
  const [isTouched, touch] = useTouched()
  const { onWindow, rowsProblem } = useRowsOnScreen(openKey)
  useSlash(search)
  useEffect(preloadDetail, [])

  const onFilters = useCallback(
    ({ freshness, ...change }: Partial<ListFilters>) => {
      const next = { ...change, ...(freshness && { freshness: [...freshness] }) }
      void setView(next, { history: change.q === undefined ? 'push' : 'replace' })
      // Another list begins at its beginning.
      gridOf(list.current)?.scrollTo({ top: 0 })
    },
    [setView],
  )
  const onSort = useCallback((sort: InsightSort) => onFilters({ sort }), [onFilters])
  const isOpen = openKey !== null
  const onOpen = useCallback((key: Key) => void setView({ key }, { history: isOpen ? 'replace' : 'push' }), [setView, isOpen])
  const onClose = useCallback(() => {
    void setView({ key: null }, { history: 'push' })
    requestAnimationFrame(() => gridOf(list.current)?.focus())
  }, [setView])
  const onRefresh = useCallback(() => {
    gridOf(list.current)?.scrollTo({ top: 0 })
    query.refresh()
  }, [query])
  useEscape(isOpen, onClose)

  const { order } = query
  return (
    <FirstRows first={first}>
      <div className="flex min-h-104 flex-1 flex-col gap-3 lg:min-h-80">
        <div className={isOpen ? 'hidden lg:block' : undefined}>
          <FilterBar filters={filters} onChange={onFilters} {...facts} searchRef={search}>
            <CsvButton keys={query.isPartial ? [] : (order?.keys ?? [])} />
          </FilterBar>
        </div>
        <div className="flex min-h-0 flex-1 items-stretch gap-3">
          <section
            ref={list}
            aria-label="List of insights"
            {...touch}
            className={`relative min-h-0 min-w-0 flex-1 flex-col overflow-hidden rounded-xl border border-line bg-panel shadow-panel live-values ${isOpen ? 'hidden lg:flex' : 'flex'}`}
          >
            {order === undefined ? (
              query.error === null ? (
                <ListSkeleton />
              ) : (
                <BlockMessage title="The list could not be read" onRetry={query.refresh}>
                  {problemText(query.error)}
                </BlockMessage>
              )
            ) : order.keys.length === 0 ? (
              isNarrowed(view) ? (
                <NoMatch filters={describeFilters(filters)} onClear={() => void setView(clearedFilters, { history: 'push' })} />
              ) : (
                <NoInsights xds={xds} />
              )
            ) : (
              <InsightGrid
                keys={order.keys}
                sort={view.sort}
                onSort={onSort}
                openKey={openKey}
                onOpen={onOpen}
                onWindow={onWindow}
                onAtTop={setAtTop}
                Row={InsightRowSlot}
                isBusy={query.isPartial}
              />
            )}
            {order !== undefined && (
              <OrderWatch
                filter={filter}
                order={order}
                isUntouched={order.keys.length === 0 || (isAtTop && !isTouched)}
                isFetching={query.isFetching}
                takenAt={query.takenAt}
                problem={query.error === null ? rowsProblem : 'The order could not be refreshed'}
                onRefresh={onRefresh}
                onAutoRefresh={query.refresh}
              />
            )}
          </section>
          {openKey !== null && <InsightDetailPanel key={toKeyString(openKey)} insightKey={openKey} onClose={onClose} />}
        </div>
      </div>
    </FirstRows>
  )
}

function gridOf(element: HTMLElement | null): HTMLElement | null | undefined {
  return element?.querySelector<HTMLElement>('[role=grid]')
}

/** The same object for the same filter: opening a detail or going back to where one was is not another list. */
function useStableFilter(filter: InsightFilter): InsightFilter {
  const [stable, setStable] = useState(filter)
  if (JSON.stringify(stable) === JSON.stringify(filter)) return stable
  setStable(filter)
  return filter
}

import { Suspense } from 'react'
import { PageSkeleton } from '../../components/insights/list-states.tsx'
import { getQueryClient, getTrpc, Hydrate } from '../trpc-server.tsx'
import { FIRST_ROWS, type FirstPage, WHOLE_ORDER_UP_TO } from './first-page.ts'
import { InsightsClient } from './insights-client.tsx'
import { type InsightsView, loadInsightsView, toInsightFilter } from './search-params.ts'

export const metadata = { title: 'Insights' }

export default async function InsightsPage({
  searchParams,
}: {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>
}) {
  const view = await loadInsightsView(searchParams)
  return (
    <Suspense fallback={<PageSkeleton />}>
      <Prefetched view={view} />
    </Suspense>
  )
}

/** All of it is read in this process, from memory: the page waits for microseconds, and its first paint has rows. */
async function Prefetched({ view }: { readonly view: InsightsView }) {
  const { first, xds } = await readFirstPage(view)
  return (
    <Hydrate>
      <InsightsClient first={first} xds={xds} />
    </Hydrate>
  )
}

async function readFirstPage(view: InsightsView): Promise<{ readonly first: FirstPage; readonly xds: string }> {
  const trpc = getTrpc()
  const queryClient = getQueryClient()
  const filter = toInsightFilter(view)
  const [order, everything, self] = await Promise.all([
    queryClient.fetchQuery(trpc.insights.order.queryOptions(filter)),
    queryClient.fetchQuery(trpc.insights.order.queryOptions({ sort: view.sort })),
    queryClient.fetchQuery(trpc.instances.self.queryOptions()),
    view.key === null ? undefined : queryClient.prefetchQuery(trpc.insights.get.queryOptions({ key: view.key })),
  ])
  const keys = order.keys.slice(0, FIRST_ROWS)
  const { now, items: rows } = await queryClient.fetchQuery(trpc.insights.rows.queryOptions({ keys }))
  // A short order goes along as the query's own data; of a long one only the head does, and the browser asks for the rest.
  const isWhole = order.keys.length <= WHOLE_ORDER_UP_TO
  queryClient.removeQueries({ queryKey: trpc.insights.order.pathKey(), predicate: ({ state }) => !isWhole || state.data !== order })
  queryClient.removeQueries({ queryKey: trpc.insights.rows.pathKey() })
  const meshes = [...new Set(everything.keys.map(({ mesh }) => mesh))].filter((mesh) => mesh !== '').toSorted((a, b) => a.localeCompare(b))
  return { first: { now, filter, head: { ...order, keys }, rows, meshes }, xds: self.xds }
}

import { createLoader } from 'nuqs/server'
import { Suspense } from 'react'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { getQueryClient, getTrpc, Hydrate } from '../trpc-server.tsx'
import { ConflictsClient } from './conflicts-client.tsx'
import { type ConflictsView, conflictsSearchParams } from './search-params.ts'
import { HOT, hotOrder, matrixInput } from './queries.ts'

export const metadata = { title: 'Conflicts' }

const loadView = createLoader(conflictsSearchParams)

export default async function ConflictsPage({
  searchParams,
}: {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>
}) {
  const view = await loadView(searchParams)
  return (
    <Suspense fallback={<Skeleton lines={12} label="the conflicts" />}>
      <Prefetched view={view} />
    </Suspense>
  )
}

async function Prefetched({ view }: { readonly view: ConflictsView }) {
  const trpc = getTrpc()
  const queryClient = getQueryClient()
  const [{ keys }] = await Promise.all([
    queryClient.fetchQuery(trpc.insights.order.queryOptions(hotOrder)),
    queryClient.prefetchQuery(trpc.overview.counters.queryOptions()),
    queryClient.prefetchQuery(trpc.conflicts.matrix.queryOptions(matrixInput(view.span))),
  ])
  await queryClient.prefetchQuery(trpc.insights.rows.queryOptions({ keys: keys.slice(0, HOT) }))
  return (
    <Hydrate>
      <ConflictsClient />
    </Hydrate>
  )
}

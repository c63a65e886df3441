import { Suspense } from 'react'
import { Skeleton } from '../components/ui/skeleton.tsx'
import { OverviewClient } from './overview/overview-client.tsx'
import { getQueryClient, getTrpc, Hydrate } from './trpc-server.tsx'

export const metadata = { title: { absolute: 'Overview · Tidewatch' } }

export default function OverviewPage() {
  return (
    <Suspense fallback={<Skeleton lines={10} label="the overview" />}>
      <Prefetched />
    </Suspense>
  )
}

async function Prefetched() {
  const trpc = getTrpc()
  const queryClient = getQueryClient()
  const [{ demo }] = await Promise.all([
    queryClient.fetchQuery(trpc.instances.self.queryOptions()),
    queryClient.prefetchQuery(trpc.overview.counters.queryOptions()),
  ])
  if (demo) await queryClient.prefetchQuery(trpc.demo.list.queryOptions())
  return (
    <Hydrate>
      <OverviewClient />
    </Hydrate>
  )
}

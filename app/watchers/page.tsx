import { Suspense } from 'react'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { getQueryClient, getTrpc, Hydrate } from '../trpc-server.tsx'
import { WatchersClient } from './watchers-client.tsx'

export const metadata = { title: 'Watchers' }

export default function WatchersPage() {
  return (
    <Suspense fallback={<Skeleton lines={8} label="the links" />}>
      <Prefetched />
    </Suspense>
  )
}

async function Prefetched() {
  await getQueryClient().prefetchQuery(getTrpc().links.list.queryOptions())
  return (
    <Hydrate>
      <WatchersClient />
    </Hydrate>
  )
}

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

/** The counters came with the frame of the page; this is what does not move with the feed. */
async function Prefetched() {
  const trpc = getTrpc()
  const queryClient = getQueryClient()
  const { demo } = await queryClient.fetchQuery(trpc.instances.self.queryOptions())
  if (demo) await queryClient.prefetchQuery(trpc.demo.list.queryOptions())
  return (
    <Hydrate>
      <OverviewClient />
    </Hydrate>
  )
}

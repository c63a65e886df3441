import { Suspense } from 'react'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { getQueryClient, getTrpc, Hydrate } from '../trpc-server.tsx'
import { StreamsClient } from './streams-client.tsx'

export const metadata = { title: 'Streams' }

export default function StreamsPage() {
  return (
    <Suspense fallback={<Skeleton lines={12} label="the streams" />}>
      <Prefetched />
    </Suspense>
  )
}

async function Prefetched() {
  const trpc = getTrpc()
  await Promise.all([
    getQueryClient().prefetchQuery(trpc.sessions.list.queryOptions()),
    getQueryClient().prefetchQuery(trpc.sessions.remote.queryOptions()),
    getQueryClient().prefetchQuery(trpc.instances.self.queryOptions()),
  ])
  return (
    <Hydrate>
      <StreamsClient />
    </Hydrate>
  )
}

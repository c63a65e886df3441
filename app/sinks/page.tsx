import { Suspense } from 'react'
import { Panel } from '../../components/ui/panel.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { getQueryClient, getTrpc, Hydrate } from '../trpc-server.tsx'
import { ChangesPanel } from './changes-panel.tsx'
import { CHANGES_READ } from './history-query.ts'
import { SinksClient } from './sinks-client.tsx'

export const metadata = { title: 'Sinks' }

export default function SinksPage() {
  return (
    <div className="flex flex-col gap-3">
      <Suspense fallback={<Skeleton lines={8} label="the sinks" />}>
        <PrefetchedSinks />
      </Suspense>
      <Suspense
        fallback={
          <Panel title="Changes">
            <Skeleton lines={3} label="the changes" />
          </Panel>
        }
      >
        <PrefetchedChanges />
      </Suspense>
    </div>
  )
}

async function PrefetchedSinks() {
  await getQueryClient().prefetchQuery(getTrpc().overview.counters.queryOptions())
  return (
    <Hydrate>
      <SinksClient />
    </Hydrate>
  )
}

async function PrefetchedChanges() {
  await getQueryClient().prefetchQuery(getTrpc().settings.history.queryOptions({ limit: CHANGES_READ }))
  return (
    <Hydrate>
      <ChangesPanel />
    </Hydrate>
  )
}

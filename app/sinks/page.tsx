import { Suspense } from 'react'
import { Panel } from '../../components/ui/panel.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { getQueryClient, getTrpc, Hydrate } from '../trpc-server.tsx'
import { ChangesPanel } from './changes-panel.tsx'
import { CHANGES_READ } from './history-query.ts'
import { SinksClient } from './sinks-client.tsx'

export const metadata = { title: 'Sinks' }

/** The sinks themselves are in the counters, which came with the frame of the page. */
export default function SinksPage() {
  return (
    <div className="flex flex-col gap-3">
      <Suspense fallback={<Skeleton lines={8} label="the sinks" />}>
        <SinksClient />
      </Suspense>
      <Suspense
        fallback={
          <Panel title="Changes">
            <Skeleton lines={3} label="the changes" />
          </Panel>
        }
      >
        <Prefetched />
      </Suspense>
    </div>
  )
}

async function Prefetched() {
  await getQueryClient().prefetchQuery(getTrpc().settings.history.queryOptions({ limit: CHANGES_READ }))
  return (
    <Hydrate>
      <ChangesPanel />
    </Hydrate>
  )
}

'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import Link from 'next/link'
import { useNow } from '../../components/now.tsx'
import { StreamDetail } from '../../components/streams/stream-detail.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Button } from '../../components/ui/button.tsx'
import type { SessionRow } from '../../server/model/views.ts'
import { insightsHref } from '../insights/insights-href.ts'
import { useTRPC } from '../trpc-client.tsx'

const REREAD_MS = 5_000

/** The stream that is open beside the list; undefined when it ended, which is said. */
export function OpenStream({
  nodeId,
  session,
  onClose,
}: {
  readonly nodeId: string
  readonly session: SessionRow | undefined
  readonly onClose: () => void
}) {
  if (session !== undefined) return <LiveStream session={session} onClose={onClose} />
  return (
    <section
      aria-label={`Stream of ${nodeId}`}
      className="w-full shrink-0 rounded-xl border border-line bg-panel shadow-panel lg:w-[25rem]"
    >
      <BlockMessage title={`${nodeId} is not connected here`}>
        Its stream has ended, or is with another instance. It shows here when it is back. <Button onClick={onClose}>Close</Button>
      </BlockMessage>
    </section>
  )
}

function LiveStream({ session, onClose }: { readonly session: SessionRow; readonly onClose: () => void }) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const now = useNow()
  const { mesh, name } = session.subject
  const key = { type: 'DataplaneInsight', mesh, name }
  const insight = useQuery(trpc.insights.get.queryOptions({ key }, { refetchInterval: REREAD_MS, retry: false }))
  const resync = useMutation(
    trpc.sessions.resync.mutationOptions({
      onSuccess: () => void queryClient.invalidateQueries({ queryKey: trpc.sessions.list.queryKey() }),
    }),
  )
  return (
    <StreamDetail
      session={session}
      now={now}
      subscriptions={insight.data?.subscriptions ?? (insight.error === null ? undefined : [])}
      insightLink={
        <Link href={insightsHref({ key })} className="text-accent hover:underline">
          how fresh its status is
        </Link>
      }
      note={resync.error !== null ? resync.error.message : resync.isSuccess ? 'Sent again.' : null}
      isResyncing={resync.isPending}
      onResync={(type) => resync.mutate({ id: session.id, ...(type !== undefined && { type }) })}
      onClose={onClose}
    />
  )
}

'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import Link from 'next/link'
import { useNow } from '../../components/now.tsx'
import { ZoneDetail } from '../../components/streams/zone-detail.tsx'
import type { ZoneStreams } from '../../components/streams/zones.ts'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Button } from '../../components/ui/button.tsx'
import { insightsHref } from '../insights/insights-href.ts'
import { useTRPC } from '../trpc-client.tsx'

const REREAD_MS = 5_000

/** The zone that is open below the list of zones; when it is away, that is said, and since when. */
export function OpenZone({
  name,
  zone,
  onClose,
}: {
  readonly name: string
  readonly zone: ZoneStreams | undefined
  readonly onClose: () => void
}) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const now = useNow()
  const key = { type: 'ZoneInsight', mesh: '', name }
  const insight = useQuery(trpc.insights.get.queryOptions({ key }, { refetchInterval: REREAD_MS, retry: false }))
  const resync = useMutation(
    trpc.sessions.resync.mutationOptions({
      onSuccess: () => void queryClient.invalidateQueries({ queryKey: trpc.sessions.list.queryKey() }),
    }),
  )
  const link = (
    <Link href={insightsHref({ key })} className="text-accent hover:underline">
      how fresh its status is
    </Link>
  )
  if (zone === undefined) {
    return (
      <section aria-label={`Zone ${name}`} className="rounded-xl border border-line bg-panel shadow-panel">
        <BlockMessage title={`Zone ${name} is not connected here`}>
          It shows here when it is back. What it was last known to have: {link}. <Button onClick={onClose}>Close</Button>
        </BlockMessage>
      </section>
    )
  }
  return (
    <ZoneDetail
      zone={zone}
      now={now}
      subscriptions={insight.data?.subscriptions ?? (insight.error === null ? undefined : [])}
      insightLink={link}
      note={resync.error !== null ? resync.error.message : resync.isSuccess ? 'Sent again.' : null}
      isResyncing={resync.isPending}
      onResync={(id, type) => resync.mutate({ id, ...(type !== undefined && { type }) })}
      onClose={onClose}
    />
  )
}

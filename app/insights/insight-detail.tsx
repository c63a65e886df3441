'use client'

import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { DetailBody } from '../../components/insights/detail-body.tsx'
import { DetailFrame } from '../../components/insights/detail-frame.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import type { InsightDetail, InsightRow, Key } from '../../server/model/views.ts'
import { useGlance, useNow, useRow } from '../live/use-live.ts'
import { useTRPC } from '../trpc-client.tsx'
import { codeOf, problemText } from './problem-text.ts'
import { useOnChange } from './use-on-change.ts'
import { useWhenLiveAgain } from './use-when-live-again.ts'

/** At most so often is the detail read again while its row moves. */
const REREAD_MS = 1000

/** One insight beside the list: the evidence is read from the server, and read again whenever its live row has moved on. */
export function InsightDetailPanel({ insightKey, onClose }: { readonly insightKey: Key; readonly onClose: () => void }) {
  const trpc = useTRPC()
  const query = useQuery(
    trpc.insights.get.queryOptions(
      { key: insightKey },
      { staleTime: REREAD_MS, retry: (failures, error) => failures < 2 && codeOf(error) !== 'not_found' },
    ),
  )
  useWhenLiveAgain(() => {
    if (query.isError) void query.refetch()
  })
  const slot = useRow(insightKey)
  useOnChange(signatureOf(slot?.row), () => void query.refetch(), REREAD_MS)
  const peer = usePeer(query.data)
  const storeProblem = useGlance((glance) => glance.storeProblem)
  // Counts down to the next flush.
  const now = useNow(250)
  const frame = useRef<HTMLElement>(null)
  // Where the list is not beside it, the detail is the page: focus goes with it.
  useEffect(() => {
    const focused = document.activeElement
    if (focused === null || focused === document.body || focused.getClientRects().length === 0) frame.current?.focus()
  }, [])
  const isGone = slot?.isGone === true || codeOf(query.error) === 'not_found'
  return (
    <DetailFrame insightKey={insightKey} onClose={onClose} frameRef={frame}>
      {isGone ? (
        <BlockMessage title="Not there">
          There is no insight of this name{query.data === undefined ? '' : ' any more'}: its data plane never connected, or was removed.
        </BlockMessage>
      ) : query.data !== undefined ? (
        <DetailBody detail={withRow(query.data, slot?.row)} peer={peer} storeProblem={storeProblem} now={now} />
      ) : query.error !== null ? (
        <BlockMessage title="Could not be read" onRetry={() => void query.refetch()}>
          {problemText(query.error)}
        </BlockMessage>
      ) : (
        <Skeleton lines={9} label="the insight" />
      )}
    </DetailFrame>
  )
}

/** Where its data plane connects from: known to the instance that holds its stream. */
function usePeer(detail: InsightDetail | undefined): string | undefined {
  const open = detail?.subscriptions.findLast(({ disconnectedAt }) => disconnectedAt === undefined)
  const trpc = useTRPC()
  const session = useQuery(
    trpc.sessions.get.queryOptions(
      { id: open?.id ?? '' },
      { enabled: open !== undefined, retry: false, staleTime: Number.POSITIVE_INFINITY },
    ),
  )
  return open === undefined ? undefined : session.data?.peer
}

/** The row of the list and of its detail are one: whichever moved last is shown in both. */
function withRow(detail: InsightDetail, live: InsightRow | undefined): InsightDetail {
  return live === undefined ? detail : { ...detail, row: live }
}

/** Moves whenever the detail has something to tell that the row does not. */
function signatureOf(row: InsightRow | undefined): string {
  return row === undefined
    ? ''
    : [row.version, row.pendingSince, row.online, row.conflicts.benign, row.conflicts.harmful, row.nacked.join(' ')].join('|')
}

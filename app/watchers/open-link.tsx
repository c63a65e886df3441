'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useNow } from '../../components/now.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Button } from '../../components/ui/button.tsx'
import { LinkDetail } from '../../components/watchers/link-detail.tsx'
import { type PolicyEdit, PolicyForm } from '../../components/watchers/policy-form.tsx'
import type { LinkRow } from '../../server/model/link-row.ts'
import { problemText } from '../insights/problem-text.ts'
import { useTRPC, useTRPCClient } from '../trpc-client.tsx'

const REREAD_MS = 1_000

/** The link that is open beside the list; when it is configured no more, that is said. */
export function OpenLink({ id, link, onClose }: { readonly id: string; readonly link: LinkRow | undefined; readonly onClose: () => void }) {
  if (link !== undefined) return <PresentLink link={link} onClose={onClose} />
  return (
    <section aria-label={`Link ${id}`} className="w-full shrink-0 rounded-xl border border-line bg-panel shadow-panel lg:w-[25rem]">
      <BlockMessage title={`There is no link ${id}`}>
        It is not configured any more. <Button onClick={onClose}>Close</Button>
      </BlockMessage>
    </section>
  )
}

function PresentLink({ link, onClose }: { readonly link: LinkRow; readonly onClose: () => void }) {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const now = useNow()
  const { id } = link
  const detail = useQuery(trpc.links.get.queryOptions({ id }, { refetchInterval: REREAD_MS, retry: false }))
  const onSuccess = () => void queryClient.invalidateQueries({ queryKey: trpc.links.list.queryKey() })
  const retry = useMutation(trpc.links.retryNow.mutationOptions({ onSuccess }))
  const pause = useMutation(trpc.links.pause.mutationOptions({ onSuccess }))
  const resume = useMutation(trpc.links.resume.mutationOptions({ onSuccess }))
  const failed = [retry, pause, resume].find(({ error }) => error !== null)
  return (
    <LinkDetail
      link={link}
      detail={detail.data}
      now={now}
      note={failed?.error == null ? (retry.isSuccess ? 'Tried.' : null) : problemText(failed.error)}
      isBusy={retry.isPending || pause.isPending || resume.isPending}
      onRetry={() => retry.mutate({ id })}
      onPause={(reason) => pause.mutate({ id, ...(reason !== '' && { reason }) })}
      onResume={() => resume.mutate({ id })}
      onClose={onClose}
      policyForm={<Policy link={link} />}
    />
  )
}

function Policy({ link }: { readonly link: LinkRow }) {
  const [isOpen, setIsOpen] = useState(false)
  if (!isOpen) return <Button onClick={() => setIsOpen(true)}>Edit policy</Button>
  return <OpenPolicy link={link} onClose={() => setIsOpen(false)} />
}

/** Reads the versions when it is opened, whoever read them before, and keeps them: what others change meanwhile is met on save. */
function OpenPolicy({ link, onClose }: { readonly link: LinkRow; readonly onClose: () => void }) {
  const trpc = useTRPC()
  const client = useTRPCClient()
  const queryClient = useQueryClient()
  const [problem, setProblem] = useState<string | null>(null)
  const [isSaving, setIsSaving] = useState(false)
  const settings = useQuery(
    trpc.settings.list.queryOptions(undefined, { refetchOnMount: 'always', gcTime: 0, staleTime: Number.POSITIVE_INFINITY }),
  )

  async function apply(edits: readonly PolicyEdit[]) {
    setIsSaving(true)
    setProblem(null)
    try {
      for (const edit of edits) await client.settings.apply.mutate(edit)
      onClose()
    } catch (error) {
      setProblem(problemText(error))
      await settings.refetch()
    }
    setIsSaving(false)
    await queryClient.invalidateQueries({ queryKey: trpc.links.list.queryKey() })
  }

  return (
    <PolicyForm
      linkId={link.id}
      policy={link.policy}
      settings={settings.data?.items ?? []}
      isSaving={isSaving || !settings.isFetchedAfterMount}
      problem={problem}
      onApply={(edits) => void apply(edits)}
      onCancel={onClose}
    />
  )
}

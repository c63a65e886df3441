'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { settingText } from '../../components/sinks/change-words.ts'
import { EditedVersion, TuneForm, type TuneProblem } from '../../components/sinks/tune-form.tsx'
import { changedSince, type SettingEdit, type TuneBase } from '../../components/sinks/tune-plan.ts'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Panel } from '../../components/ui/panel.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import type { SettingRow } from '../../server/model/views.ts'
import { problemText } from '../insights/problem-text.ts'
import { useWhenLiveAgain } from '../insights/use-when-live-again.ts'
import { useTRPC, useTRPCClient } from '../trpc-client.tsx'
import { AppliedNote } from './applied-note.tsx'
import { CHANGES_READ } from './history-query.ts'

type Step =
  | { readonly kind: 'editing'; readonly problem?: TuneProblem }
  | { readonly kind: 'saving' }
  | { readonly kind: 'applied'; readonly changeIds: readonly string[]; readonly intervalMs: number }

/**
 *   editing -- apply --> saving -- done --> applied -- tune again --> editing (read anew)
 *      ^                   |___ lost, refused, failed ___> editing, with the problem
 */
export function TunePanel({ sink, onClose }: { readonly sink: string; readonly onClose: () => void }) {
  const trpc = useTRPC()
  const client = useTRPCClient()
  const queryClient = useQueryClient()
  const [step, setStep] = useState<Step>({ kind: 'editing' })
  // Moves when the settings were read anew for another go: the form keeps what it was opened with.
  const [round, setRound] = useState(0)
  const settings = useQuery(trpc.settings.list.queryOptions(undefined, { gcTime: 0, staleTime: Number.POSITIVE_INFINITY }))
  const base = settings.data === undefined ? undefined : baseOf(settings.data.items, sink)
  useWhenLiveAgain(() => {
    if (settings.isError) void settings.refetch()
  })
  // The list of changes below follows the sinks; this is the same query.
  const history = useQuery(trpc.settings.history.queryOptions({ limit: CHANGES_READ }))

  async function apply(edits: readonly SettingEdit[], intervalMs: number) {
    setStep({ kind: 'saving' })
    const changeIds: string[] = []
    let applied: string | undefined
    for (const { key, ...edit } of edits) {
      try {
        changeIds.push((await client.settings.apply.mutate({ key, ...edit })).changeId)
        applied = key
      } catch (error) {
        const problem = problemOf(error, key)
        setStep({ kind: 'editing', problem: applied === undefined ? problem : toPartial(problem, applied, key) })
        return
      }
    }
    setStep({ kind: 'applied', changeIds, intervalMs })
    await queryClient.invalidateQueries(trpc.settings.history.pathFilter())
  }

  async function readAnew() {
    await settings.refetch()
    setStep({ kind: 'editing' })
    setRound(round + 1)
  }

  return (
    <Panel
      title={`Tune ${sink} sink`}
      aside={base !== undefined && step.kind !== 'applied' ? <EditedVersion key={round} {...base} /> : undefined}
    >
      {step.kind === 'applied' ? (
        <AppliedNote changeIds={step.changeIds} intervalMs={step.intervalMs} onAgain={() => void readAnew()} onClose={onClose} />
      ) : base !== undefined ? (
        <TuneForm
          key={round}
          base={base}
          origin={typeof window === 'undefined' ? '' : window.location.origin}
          isSaving={step.kind === 'saving'}
          problem={step.kind === 'editing' ? step.problem : undefined}
          elsewhere={step.kind === 'editing' ? changedSince(base, history.data?.items ?? []) : undefined}
          onApply={(edits, intervalMs) => void apply(edits, intervalMs)}
          onReload={() => void readAnew()}
          onCancel={onClose}
        />
      ) : settings.error !== null ? (
        <BlockMessage title="The settings could not be read" onRetry={() => void settings.refetch()}>
          {problemText(settings.error)}
        </BlockMessage>
      ) : settings.data !== undefined ? (
        <BlockMessage title={`The ${sink} sink has nothing to tune`} />
      ) : (
        <Skeleton lines={5} label="the settings" />
      )}
    </Panel>
  )
}

function baseOf(settings: readonly SettingRow[], sink: string): TuneBase | undefined {
  const find = (name: string) => settings.find(({ key }) => key === `sink.${sink}.${name}`)
  const interval = find('flushIntervalMs') ?? find('minResyncMs')
  return interval === undefined ? undefined : { interval, backoff: find('flushBackoffMs') }
}

function toPartial(problem: TuneProblem, applied: string, missing: string): TuneProblem {
  const message = problem.kind === 'conflict' ? `It was changed elsewhere to ${problem.value}.` : problem.message
  return { kind: 'partial', applied, missing, message }
}

interface Refusal {
  readonly message?: string
  readonly data?: { readonly code?: string; readonly details?: Readonly<Record<string, unknown>> }
}

function problemOf(error: unknown, key: string): TuneProblem {
  const { message = 'The server did not say why.', data } = error as Refusal
  const { changedBy, changedAt, value } = data?.details ?? {}
  if (data?.code === 'conflict')
    return {
      kind: 'conflict',
      changedBy: typeof changedBy === 'string' ? changedBy : null,
      changedAt: typeof changedAt === 'number' ? changedAt : null,
      value: typeof value === 'number' || typeof value === 'string' ? settingText(key, value) : 'another value',
    }
  if (data?.code === 'invalid') return { kind: 'refused', key, message }
  return { kind: 'failed', message: data === undefined ? 'Tidewatch does not answer; what was typed is kept here.' : message }
}

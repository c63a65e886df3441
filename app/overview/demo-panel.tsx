'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { FaultSwitches } from '../../components/overview/fault-switches.tsx'
import { codeOf } from '../insights/problem-text.ts'
import { useTRPC } from '../trpc-client.tsx'

/** A fault may end by itself: asked again while it is looked at. */
const REREAD_MS = 2_000

export function DemoPanel() {
  const trpc = useTRPC()
  const queryClient = useQueryClient()
  const faults = useQuery(trpc.demo.list.queryOptions(undefined, { refetchInterval: REREAD_MS }))
  const set = useMutation(
    trpc.demo.set.mutationOptions({ onSuccess: (answer) => queryClient.setQueryData(trpc.demo.list.queryKey(), answer) }),
  )
  if (faults.data === undefined) return null
  return (
    <FaultSwitches
      faults={faults.data.items}
      moving={set.isPending ? set.variables.name : undefined}
      problem={set.error === null ? undefined : switchProblem(set.error)}
      onSet={(name, active) => set.mutate({ name, active })}
    />
  )
}

function switchProblem(error: { readonly message: string }): string {
  return codeOf(error) === undefined ? 'Tidewatch does not answer: nothing was switched.' : error.message
}

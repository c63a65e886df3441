'use client'

import { useQuery } from '@tanstack/react-query'
import { effectText, settingName, settingText } from '../../components/sinks/change-words.ts'
import { formatSpan } from '../../components/format.ts'
import { Button } from '../../components/ui/button.tsx'
import { Note } from '../../components/ui/note.tsx'
import { useTRPC } from '../trpc-client.tsx'
import { CHANGES_READ } from './history-query.ts'

export interface AppliedNoteProps {
  readonly changeIds: readonly string[]
  readonly intervalMs: number
  readonly onAgain: () => void
  readonly onClose: () => void
}

const ASK_EVERY_MS = 400

/** Says what was applied, and when it was in force for everybody: the history is asked until it knows. */
export function AppliedNote({ changeIds, intervalMs, onAgain, onClose }: AppliedNoteProps) {
  const trpc = useTRPC()
  const history = useQuery(
    trpc.settings.history.queryOptions(
      { limit: CHANGES_READ },
      {
        refetchInterval: ({ state }) =>
          state.data?.items.some(({ changeId, effect }) => changeIds.includes(changeId) && effect !== null) === true ? false : ASK_EVERY_MS,
      },
    ),
  )
  const changes = (history.data?.items ?? []).filter(({ changeId }) => changeIds.includes(changeId)).toReversed()
  const effect = effectText(changes.find((change) => change.effect !== null)?.effect ?? null)
  return (
    <div className="flex flex-col gap-3">
      <Note tone={effect === undefined ? 'info' : 'good'} role="status">
        <p>
          <b className="font-semibold">
            {effect === undefined ? 'Applied, taking effect.' : `${effect[0]?.toUpperCase()}${effect.slice(1)}.`}
          </b>{' '}
          {effect === undefined && `It is in force for all sessions within ${formatSpan(intervalMs)}.`}
        </p>
        {changes.map(({ changeId, key, from, to }) => (
          <p key={changeId} className="text-muted">
            {settingName(key)}: {settingText(key, from)} to {settingText(key, to)}
          </p>
        ))}
      </Note>
      <div className="flex gap-2">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
        <Button onClick={onAgain}>Tune again</Button>
      </div>
    </div>
  )
}

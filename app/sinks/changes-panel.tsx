'use client'

import { useQuery } from '@tanstack/react-query'
import { formatQuantity } from '../../components/format.ts'
import { ChangeList } from '../../components/sinks/change-list.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Panel } from '../../components/ui/panel.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { problemText } from '../insights/problem-text.ts'
import { useOnChange } from '../insights/use-on-change.ts'
import { useWhenLiveAgain } from '../insights/use-when-live-again.ts'
import { useCounters } from '../live/use-counters.ts'
import { useTRPC } from '../trpc-client.tsx'
import { useOperatorName } from '../use-operator-name.ts'
import { CHANGES_READ, CHANGES_SHOWN } from './history-query.ts'

const REREAD_MS = 500

/** Read again whenever a sink goes by other values, whoever changed them. */
export function ChangesPanel() {
  const trpc = useTRPC()
  const history = useQuery(trpc.settings.history.queryOptions({ limit: CHANGES_READ }))
  const changes = history.data?.items.filter(({ key }) => key.startsWith('sink.')).slice(0, CHANGES_SHOWN)
  const inForce = useCounters(({ sinks }) =>
    sinks.map(({ intervalMs, backoffMs, adopted }) => `${intervalMs} ${backoffMs} ${adopted.version}`).join(),
  )
  useOnChange(inForce, () => void history.refetch(), REREAD_MS)
  useWhenLiveAgain(() => void history.refetch())
  const you = useOperatorName()
  return (
    <Panel title="Changes" aside={changes !== undefined && changes.length > 1 ? formatQuantity(changes.length, 'change') : undefined}>
      {changes !== undefined ? (
        <ChangeList changes={changes} you={you} />
      ) : history.error !== null ? (
        <BlockMessage title="The changes could not be read" onRetry={() => void history.refetch()}>
          {problemText(history.error)}
        </BlockMessage>
      ) : (
        <Skeleton lines={3} label="the changes" />
      )}
    </Panel>
  )
}

'use client'

import { useQuery } from '@tanstack/react-query'
import { useQueryStates } from 'nuqs'
import { useEffect, useRef } from 'react'
import { countStreams, filterStreams } from '../../components/streams/stream-list.ts'
import { useNow } from '../../components/now.tsx'
import type { RefusedListProps } from '../../components/streams/refused-list.tsx'
import { StreamFilters } from '../../components/streams/stream-filters.tsx'
import { ZonePanel } from '../../components/streams/zone-panel.tsx'
import { zonesOf } from '../../components/streams/zones.ts'
import { StreamsTable } from '../../components/streams/streams-table.tsx'
import { BlockMessage } from '../../components/ui/block-message.tsx'
import { Button } from '../../components/ui/button.tsx'
import { lazyPart } from '../../components/ui/lazy-part.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { useEscape, useSlash } from '../insights/use-page-keys.ts'
import { useWhenLiveAgain } from '../insights/use-when-live-again.ts'
import { useTRPC } from '../trpc-client.tsx'
import { streamsSearchParams } from './search-params.ts'

/** How often the list is read while it is looked at. */
const REREAD_MS = 2_000
/** What attached control planes bring moves with their polls. */
const REMOTE_REREAD_MS = 5_000

const { Part: OpenStream, preload: preloadStream } = lazyPart(() => import('./open-stream.tsx').then((file) => file.OpenStream))
const { Part: OpenZone, preload: preloadZone } = lazyPart(() => import('./open-zone.tsx').then((file) => file.OpenZone))
const { Part: RemoteZones } = lazyPart(() => import('./remote-zones.tsx').then((file) => file.RemoteZones))
const { Part: RefusedList } = lazyPart(() => import('../../components/streams/refused-list.tsx').then((file) => file.RefusedList))

export function StreamsClient() {
  const trpc = useTRPC()
  const [view, setView] = useQueryStates(streamsSearchParams)
  const sessions = useQuery(trpc.sessions.list.queryOptions(undefined, { refetchInterval: REREAD_MS }))
  const remote = useQuery(trpc.sessions.remote.queryOptions(undefined, { refetchInterval: REMOTE_REREAD_MS }))
  const self = useQuery(trpc.instances.self.queryOptions())
  useWhenLiveAgain(() => void sessions.refetch())
  const search = useRef<HTMLInputElement>(null)
  useSlash(search)
  useEffect(() => {
    preloadStream()
    preloadZone()
  }, [])
  useEscape(view.node !== null || view.zone !== null || view.remote !== null, () => void setView({ node: null, zone: null, remote: null }))

  if (sessions.data === undefined) {
    if (sessions.error === null) return <Skeleton lines={12} label="the streams" />
    return (
      <BlockMessage title="The streams could not be read" onRetry={() => void sessions.refetch()}>
        {sessions.error.message}
      </BlockMessage>
    )
  }
  const remoteZones = remote.data?.items ?? []
  const zones = zonesOf(sessions.data.items)
  const all = sessions.data.items.filter(({ protocol }) => protocol === 'xds')
  const openZone = (zone: string | null) => void setView({ zone }, { history: 'push' })
  if (all.length === 0 && zones.length === 0 && remoteZones.length === 0 && view.zone === null && view.remote === null) {
    return (
      <BlockMessage title="No data plane is connected">
        Point an Envoy or a gRPC client at {self.data?.xds ?? 'the xDS port'}, or run{' '}
        <code>npm run fleet -- --xds {self.data?.xds ?? '127.0.0.1:7678'} --dataplanes 50</code> for simulated ones.
      </BlockMessage>
    )
  }
  const shown = filterStreams(all, view)
  const open = all.find(({ nodeId }) => nodeId === view.node)
  return (
    <div className="flex flex-col gap-3">
      <Refused
        sessions={sessions.data.items}
        onOpenZone={openZone}
        onOpen={(node) => void setView({ node }, { history: 'push' })}
        onShowAll={() => void setView({ state: 'rejecting' })}
      />
      {zones.length > 0 && <ZonePanel zones={zones} selected={view.zone} onSelect={(zone) => openZone(zone === view.zone ? null : zone)} />}
      {view.zone !== null && (
        <OpenZone key={view.zone} name={view.zone} zone={zones.find(({ name }) => name === view.zone)} onClose={() => openZone(null)} />
      )}
      {(remoteZones.length > 0 || view.remote !== null) && (
        <RemoteZones zones={remoteZones} selected={view.remote} onSelect={(remote) => void setView({ remote }, { history: 'push' })} />
      )}
      <StreamFilters filter={view} counts={countStreams(all)} onChange={(change) => void setView(change)} searchRef={search} />
      <div className="flex flex-col gap-3 lg:flex-row">
        {all.length === 0 ? (
          <div className="flex-1 rounded-xl border border-line bg-panel">
            <BlockMessage title="No data plane is connected">
              Zones are; data planes connect to {self.data?.xds ?? 'the xDS port'}.
            </BlockMessage>
          </div>
        ) : shown.length === 0 ? (
          <div className="flex-1 rounded-xl border border-line bg-panel">
            <BlockMessage title="No stream fits">
              <Button onClick={() => void setView({ q: '', state: null, variant: null, mesh: null })}>Show all {all.length}</Button>
            </BlockMessage>
          </div>
        ) : (
          <StreamsTable
            sessions={shown}
            selected={view.node}
            onSelect={(node) => void setView({ node: node === view.node ? null : node }, { history: 'push' })}
          />
        )}
        {view.node !== null && (
          <OpenStream key={view.node} nodeId={view.node} session={open} onClose={() => void setView({ node: null }, { history: 'push' })} />
        )}
      </div>
    </div>
  )
}

/** Apart, so that the ticking of its ages draws nothing else. */
function Refused(props: Omit<RefusedListProps, 'now'>) {
  return <RefusedList {...props} now={useNow()} />
}
